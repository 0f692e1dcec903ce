package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

//go:embed migrations
var scripts embed.FS

// migration is one step forward of a schema.
type migration struct{ name, script string }

func sqliteMigrations() []migration   { return list("migrations/sqlite") }
func postgresMigrations() []migration { return list("migrations/postgres") }

// list reads a folder's files in order. What is wrong with them is a mistake in
// the program, which any test finds.
func list(dir string) []migration {
	entries, err := fs.ReadDir(scripts, dir)
	if err != nil {
		panic(err)
	}
	history := make([]migration, len(entries))
	for i, e := range entries {
		script, err := fs.ReadFile(scripts, path.Join(dir, e.Name()))
		if err != nil {
			panic(err)
		}
		history[i] = migration{e.Name(), string(script)}
	}
	return history
}

// NewerSchemaError says that the database belongs to a newer version.
type NewerSchemaError struct {
	Found int // in the database
	Known int // to this program
}

// Error is a sentence for an operator.
func (e *NewerSchemaError) Error() string {
	return fmt.Sprintf("its schema is version %d, and this version of deepfaked knows versions up to %d: "+
		"run the newer deepfaked, or name another folder with --data or another database with --database", e.Found, e.Known)
}

// OlderSchemaError says that the database belongs to an older version, which may
// be using it.
type OlderSchemaError struct {
	Found  int  // in the database
	Known  int  // to this program
	Shared bool // several processes work on it, which need not be stopped
}

// Error is a sentence for an operator.
func (e *OlderSchemaError) Error() string {
	first := "stop the service that runs on it and start this version's first, which brings it up to date"
	if e.Shared {
		first = "start a service of this version on it first, which brings it up to date, or use the version that runs on it"
	}
	return fmt.Sprintf("its schema is version %d, and this version of deepfaked needs version %d: %s", e.Found, e.Known, first)
}

// errForeign says that a database is another program's. It is a sentence for an operator.
var errForeign = errors.New("it has tables, and none that deepfaked has made: name deepfaked's own database, or an empty one, with --data or --database")

// catalogue is how a database tells of its tables.
type catalogue struct {
	tables  string // asks for the names of all where ours would be, but for the database's own
	columns string // asks for the names of the columns of migrations
}

// refuseForeign returns errForeign for a database with tables whose history does not begin as ours does: it was put in the
// place of ours, and would get our tables among its own. It only reads.
func refuseForeign(ctx context.Context, tx *sql.Tx, c catalogue, history []migration) error {
	tables, err := names(ctx, tx, c.tables)
	if err != nil || len(tables) == 0 {
		return err
	}
	columns, err := names(ctx, tx, c.columns)
	if err != nil {
		return err
	}
	if !slices.Contains(columns, "version") || !slices.Contains(columns, "name") {
		return errForeign
	}
	first, err := names(ctx, tx, `SELECT coalesce(CAST(name AS TEXT), '') FROM migrations ORDER BY version LIMIT 1`)
	switch {
	case err != nil:
		return err
	case len(first) == 0 && len(tables) == 1: // nothing but the table of what has been migrated
		return nil
	case len(first) == 1 && first[0] == history[0].name:
		return nil
	}
	return errForeign
}

// names are the texts that a query gives.
func names(ctx context.Context, tx *sql.Tx, query string) (all []string, err error) {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("look for tables: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("look for tables: %w", err)
		}
		all = append(all, name)
	}
	return all, rows.Err()
}

// ownTable holds what has been migrated.
const ownTable = `CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL)`

// migrate brings the schema forward from what ownTable says, never back, in a transaction that keeps out
// all others that would: processes started at the same time do it once, and a
// crash leaves the old schema. An older schema is left alone unless may is set.
func migrate(ctx context.Context, tx *sql.Tx, history []migration, may bool) error {
	version, err := schemaVersion(ctx, tx)
	if err != nil {
		return err
	}
	switch {
	case version > len(history):
		return &NewerSchemaError{Found: version, Known: len(history)}
	case version > 0 && version < len(history) && !may:
		return &OlderSchemaError{Found: version, Known: len(history)}
	}
	for i, m := range history[version:] {
		if err := apply(ctx, tx, m, version+i+1); err != nil {
			return err
		}
	}
	return nil
}

// schemaVersion reads the number of the last migration, 0 for a new database.
func schemaVersion(ctx context.Context, tx *sql.Tx) (int, error) {
	var version int
	err := tx.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM migrations`).Scan(&version)
	if err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	return version, nil
}

// apply runs one script and notes it.
func apply(ctx context.Context, tx *sql.Tx, m migration, version int) error {
	if want := fmt.Sprintf("%04d_", version); len(m.name) < len(want) || m.name[:len(want)] != want {
		return fmt.Errorf("migration %s should begin with %s", m.name, want)
	}
	if _, err := tx.ExecContext(ctx, m.script); err != nil {
		return fmt.Errorf("apply migration %s: %w", m.name, err)
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO migrations (version, name) VALUES ($1, $2)`, version, m.name)
	if err != nil {
		return fmt.Errorf("note migration %s: %w", m.name, err)
	}
	return nil
}
