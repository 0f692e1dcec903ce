package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"deepfaked/internal/policy"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteEngine has one connection for all that writes: every transaction on it is
// BEGIN IMMEDIATE.
type sqliteEngine struct{ writer *sql.DB }

// openSQLite is Open for the folder data, with a history of its own.
func openSQLite(ctx context.Context, data string, opts Options, history []migration) (*Store, error) {
	path, err := prepare(data)
	if opts.Reading && unwritable(err) {
		return openReading(ctx, data, opts, history)
	}
	if err != nil {
		return nil, err
	}
	if err := look(ctx, path, opts, history); err != nil {
		return nil, fmt.Errorf("open the database %s: %w", path, err)
	}
	err = os.Chmod(path, 0o600)
	if opts.Reading && unwritable(err) { // another user's file, which may be written to all the same
		return openReading(ctx, data, opts, history)
	}
	if err != nil {
		return nil, err
	}
	s, err := connect(path, opts)
	if err != nil {
		return nil, err
	}
	err = migrateSQLite(ctx, s.writer, history, opts)
	if err == nil {
		s.file, err = os.Stat(path)
	}
	if err != nil {
		return nil, errors.Join(s.explain("open the database "+path, err), s.Close())
	}
	return s, nil
}

// sqliteCatalogue is that of SQLite.
var sqliteCatalogue = catalogue{
	tables:  `SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'`,
	columns: `SELECT name FROM pragma_table_info('migrations')`,
}

// look refuses another program's database before anything of it is changed: the first connection of connect switches it to
// WAL. What else is wrong with it, or keeps it from being read without writing, is for that to say.
func look(ctx context.Context, path string, opts Options, history []migration) error {
	if nothingIn(path) {
		return nil
	}
	db, err := openCompiled(readingDSN(path, opts, false))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := checkSchema(ctx, db, history); errors.Is(err, errForeign) {
		return err
	}
	return nil
}

// explain says what failed, or in a sentence that the disk of SQLite is full.
func (s *Store) explain(doing string, err error) error {
	if isFull(err) {
		return s.Explain(err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// connect opens both pools; nothing is read yet.
func connect(path string, opts Options) (*Store, error) {
	writer, err := openCompiled(dsn(path, opts, false))
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", path, err)
	}
	reader, err := openCompiled(dsn(path, opts, true))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", path, err), writer.Close())
	}
	writer.SetMaxOpenConns(1)
	reader.SetMaxOpenConns(opts.Readers)
	reader.SetMaxIdleConns(opts.Readers)
	// The writer is closed last, so that it is the one to fold the log back
	// into the database file.
	return &Store{name: path, engine: &sqliteEngine{writer}, reader: reader, writer: writer, close: closing(reader.Close, writer.Close)}, nil
}

// transact implements engine. Every transaction sets the level of synchronous for
// itself: there is nothing to restore, however the one before ended.
func (e *sqliteEngine) transact(ctx context.Context, unsynced bool, fn func(*Tx) error) error {
	level := "FULL"
	if unsynced {
		level = "NORMAL"
	}
	conn, err := e.writer.Conn(ctx)
	if err != nil {
		return fmt.Errorf("wait for the writing connection: %w", err)
	}
	defer func() { _ = conn.Close() }() // it waits for the transaction's end
	defer policy.Prompt()()             // all others that write wait for it
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous="+level); err != nil {
		return fmt.Errorf("choose when to sync: %w", err)
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	return finish(ctx, &Tx{tx: tx}, fn)
}

// migrateSQLite brings the schema forward in a transaction that excludes other
// writers.
func migrateSQLite(ctx context.Context, db *sql.DB, history []migration, opts Options) error {
	tx, err := beginFirst(ctx, db, opts.BusyTimeout)
	if err != nil {
		return fmt.Errorf("lock the schema: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := refuseForeign(ctx, tx, sqliteCatalogue, history); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, ownTable); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if err := migrate(ctx, tx, history, opts.Migrate); err != nil {
		return err
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
