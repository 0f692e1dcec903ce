package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Store is an open database. It is safe for concurrent use; several processes
// may have the same one open.
type Store struct {
	name   string
	engine engine
	reader *sql.DB
	writer *sql.DB       // of SQLite
	file   fs.FileInfo   // of SQLite, as it was opened
	pool   *pgxpool.Pool // of PostgreSQL
	lost   time.Duration
	close  func() error
}

// engine is what the two databases do each in its own way.
type engine interface {
	// transact runs fn in a transaction; unsynced, its commit does not wait for
	// the disk.
	transact(ctx context.Context, unsynced bool, fn func(*Tx) error) error
}

// Open opens the database that opts names, or the one in the folder data, which
// is made when it is absent; an older schema is brought up to date with
// Options.Migrate, for which the caller must hold the folder's Claim on SQLite, and is an
// *OlderSchemaError without. The error is a sentence for an operator, without the
// password, when the database can't be used, and a *NewerSchemaError when it was
// made by a newer version. The caller closes the store.
func Open(ctx context.Context, data string, opts Options) (*Store, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.Database != "" {
		return openPostgres(ctx, opts, postgresMigrations())
	}
	return openSQLite(ctx, data, opts, sqliteMigrations())
}

// Name is the path of the database, or its name on its server, for an operator.
func (s *Store) Name() string { return s.name }

// Astray says why what lies at the path of SQLite is not the file that is open, and is nil on
// PostgreSQL. SQLite goes on with a file that was deleted or replaced: what it writes
// there is gone when the process ends, and other processes see none of it.
func (s *Store) Astray() error {
	if s.file == nil {
		return nil
	}
	there, err := os.Stat(s.name)
	switch {
	case err != nil:
		return fmt.Errorf("look for the database: %w", err)
	case !os.SameFile(s.file, there):
		return fmt.Errorf("%s is another file than the one that was opened", s.name)
	}
	return nil
}

// Explain is err, or a sentence for an operator that names the data folder where err is that SQLite
// found its disk full.
func (s *Store) Explain(err error) error {
	if isFull(err) {
		return explain(filepath.Dir(s.name), err)
	}
	return err
}

// Close waits for running statements and releases the database. It is
// idempotent.
func (s *Store) Close() error { return s.close() }

// Reader runs single statements that change nothing, next to whatever is being
// written. Each statement sees one consistent state. Texts should be constants, as
// they are compiled once.
func (s *Store) Reader() *sql.DB { return s.reader }

// SQLite is the one writing connection for a library that brings its own
// statements, nil on PostgreSQL: whatever it does excludes all other writers. One
// statement or transaction has it at a time.
func (s *Store) SQLite() *sql.DB { return s.writer }

// Postgres is the pool of connections for a library that brings its own
// statements, nil on SQLite.
func (s *Store) Postgres() *pgxpool.Pool { return s.pool }

// Write runs fn in a transaction. It commits when fn returns nil, and what it
// wrote is on disk then; it rolls back otherwise, and fn's error is returned as
// it is. On SQLite it excludes all other writers, in this process and in others,
// from its first statement on; on PostgreSQL, where each statement sees what has
// been committed before it, fn locks what its decision rests on (Tx.Lock) and is
// run again after a deadlock, never after a commit that may have taken effect, whose
// error is an *UnknownError.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	return s.engine.transact(ctx, false, fn)
}

// WriteUnsynced is Write for what nobody has been promised yet: all see it, and
// it outlives the process, but without the wait for the disk. Until a Write has
// returned, a power failure may take it back.
func (s *Store) WriteUnsynced(ctx context.Context, fn func(*Tx) error) error {
	return s.engine.transact(ctx, true, fn)
}

// finish runs fn in tx and commits it. What ended otherwise is rolled back, also
// when fn panics.
func finish(ctx context.Context, tx *Tx, fn func(*Tx) error) error {
	defer func() { _ = tx.tx.Rollback() }() // after a commit this does nothing
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.tx.Commit(); err != nil {
		// A context that has ended rolls back by itself, now and then first:
		// then that is what happened, not that the transaction is over.
		if ctx.Err() != nil && errors.Is(err, sql.ErrTxDone) {
			err = ctx.Err()
		}
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// closing closes what is given, in this order, once.
func closing(all ...func() error) func() error {
	return sync.OnceValue(func() error {
		var errs []error
		for _, each := range all {
			errs = append(errs, each())
		}
		return errors.Join(errs...)
	})
}
