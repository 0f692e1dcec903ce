package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

//go:embed migrations/*.sql
var migrations embed.FS

// NewerSchemaError says that the database belongs to a newer version.
type NewerSchemaError struct {
	Found int // in the database
	Known int // to this program
}

// Error is a sentence for an operator.
func (e *NewerSchemaError) Error() string {
	return fmt.Sprintf("its schema is version %d, and this version of deepfaked knows versions up to %d: "+
		"run the newer deepfaked, or name another folder with --data", e.Found, e.Known)
}

// OlderSchemaError says that the database belongs to an older version, which may
// be using it.
type OlderSchemaError struct {
	Found int // in the database
	Known int // to this program
}

// Error is a sentence for an operator.
func (e *OlderSchemaError) Error() string {
	return fmt.Sprintf("its schema is version %d, and this version of deepfaked needs version %d: "+
		"stop the service that runs on it and start this version's first, which brings it up to date", e.Found, e.Known)
}

// migrate brings the schema forward, never back. All that is missing is done in
// one transaction that excludes other writers, so that processes started at the
// same time do it once, and a crash leaves the old schema.
func migrate(ctx context.Context, db *sql.DB, files fs.FS, opts Options) error {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return fmt.Errorf("list migrations: %w", err)
	}
	tx, err := beginFirst(ctx, db, opts.BusyTimeout)
	if err != nil {
		return fmt.Errorf("lock the schema: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	version, err := schemaVersion(ctx, tx)
	if err != nil {
		return err
	}
	switch {
	case version > len(names):
		return &NewerSchemaError{Found: version, Known: len(names)}
	case version > 0 && version < len(names) && !opts.Migrate:
		return &OlderSchemaError{Found: version, Known: len(names)}
	}
	for i, name := range names[version:] {
		if err := apply(ctx, tx, files, name, version+i+1); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// beginFirst begins the first transaction of a connection, which also switches a
// new database to WAL. Of two that switch at once SQLite refuses one without
// waiting for its busy timeout, since each holds what the other needs: that one
// tries again, until patience is over.
func beginFirst(ctx context.Context, db *sql.DB, patience time.Duration) (*sql.Tx, error) {
	const pause = 5 * time.Millisecond
	for deadline := time.Now().Add(patience); ; {
		tx, err := db.BeginTx(ctx, nil)
		refused, ok := errors.AsType[*sqlite.Error](err)
		if !ok || refused.Code()&0xff != sqlite3.SQLITE_BUSY || time.Now().After(deadline) {
			return tx, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// schemaVersion reads the number of the last migration, 0 for a new database.
func schemaVersion(ctx context.Context, tx *sql.Tx) (int, error) {
	const table = `CREATE TABLE IF NOT EXISTS migrations (
		version INTEGER PRIMARY KEY, name TEXT NOT NULL)`
	if _, err := tx.ExecContext(ctx, table); err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	var version int
	err := tx.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM migrations`).Scan(&version)
	if err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	return version, nil
}

// apply runs one file and notes it.
func apply(ctx context.Context, tx *sql.Tx, files fs.FS, name string, version int) error {
	// The files are numbered without gaps: a misnamed one is a mistake in the
	// program that any test finds.
	if want := fmt.Sprintf("migrations/%04d_", version); !strings.HasPrefix(name, want) {
		return fmt.Errorf("migration %s should begin with %s", name, want)
	}
	script, err := fs.ReadFile(files, name)
	if err != nil {
		return fmt.Errorf("read migration %s: %w", name, err)
	}
	if _, err := tx.ExecContext(ctx, string(script)); err != nil {
		return fmt.Errorf("apply migration %s: %w", name, err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO migrations (version, name) VALUES ($1, $2)`, version, name)
	if err != nil {
		return fmt.Errorf("note migration %s: %w", name, err)
	}
	return nil
}
