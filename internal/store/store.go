package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"sync"
)

// Store is an open database. It is safe for concurrent use; several processes
// may have the same data folder open.
type Store struct {
	writer   *sql.DB    // one connection, every transaction is BEGIN IMMEDIATE
	compiled statements // of the writer
	reader   *sql.DB    // query_only connections
	close    func() error
}

// Open opens the database in the folder data and makes both when they are
// absent; an older schema is brought up to date with Options.Migrate, for which
// the caller must hold the folder's Claim, and is an *OlderSchemaError without.
// The error is a sentence for an operator when the folder can't be written to,
// and a *NewerSchemaError when the database was made by a newer version. The
// caller closes the store.
func Open(ctx context.Context, data string, opts Options) (*Store, error) {
	return openAt(ctx, data, opts, migrations)
}

// openAt is Open with a history of its own.
func openAt(ctx context.Context, data string, opts Options, history fs.FS) (*Store, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	path, err := prepare(data)
	if err != nil {
		return nil, err
	}
	s, err := connect(path, opts)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, s.writer, history, opts); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", path, err), s.Close())
	}
	return s, nil
}

// connect opens both pools; nothing is read yet.
func connect(path string, opts Options) (*Store, error) {
	writer, err := sql.Open("sqlite", dsn(path, opts, false))
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", path, err)
	}
	reader, err := sql.Open("sqlite", dsn(path, opts, true))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", path, err), writer.Close())
	}
	writer.SetMaxOpenConns(1)
	reader.SetMaxOpenConns(opts.Readers)
	reader.SetMaxIdleConns(opts.Readers)
	s := &Store{writer: writer, reader: reader}
	// The writer is closed last, so that it is the one to fold the log back
	// into the database file.
	s.close = sync.OnceValue(func() error { return errors.Join(reader.Close(), writer.Close()) })
	return s, nil
}

// Close waits for running statements and releases the file. It is idempotent.
func (s *Store) Close() error { return s.close() }

// Reader runs single statements that change nothing, next to whatever is being
// written. Each statement sees one consistent state.
func (s *Store) Reader() *sql.DB { return s.reader }

// Writer is the writing connection for a library that brings its own statements:
// whatever it does excludes all other writers. One statement or transaction has
// it at a time.
func (s *Store) Writer() *sql.DB { return s.writer }

// Write runs fn in a transaction that excludes all other writers, in this
// process and in others, from its first statement on. It commits when fn
// returns nil, and what it wrote is on disk then; it rolls back otherwise, and
// fn's error is returned as it is.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	return s.write(ctx, "FULL", fn)
}

// WriteUnsynced is Write for what nobody has been promised yet: all see it, and
// it outlives the process, but without the wait for the disk. Until a Write has
// returned, a power failure may take it back.
func (s *Store) WriteUnsynced(ctx context.Context, fn func(*Tx) error) error {
	return s.write(ctx, "NORMAL", fn)
}

// write runs fn at a level of synchronous, and compiles what it ran.
func (s *Store) write(ctx context.Context, level string, fn func(*Tx) error) error {
	missed, err := s.transact(ctx, level, fn)
	if err != nil {
		return err
	}
	s.compiled.compile(ctx, s.writer, missed)
	return nil
}

// transact returns the texts that fn ran uncompiled. Every transaction sets the
// level for itself: there is nothing to restore, however the one before ended.
func (s *Store) transact(ctx context.Context, level string, fn func(*Tx) error) ([]string, error) {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("wait for the writing connection: %w", err)
	}
	defer func() { _ = conn.Close() }() // it waits for the transaction's end
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous="+level); err != nil {
		return nil, fmt.Errorf("choose when to sync: %w", err)
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin a transaction: %w", err)
	}
	// After a commit this does nothing; it is what ends the transaction when
	// fn fails or panics.
	defer func() { _ = tx.Rollback() }()
	own := &Tx{tx: tx, compiled: &s.compiled}
	if err := fn(own); err != nil {
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		// A context that has ended rolls back by itself, now and then first:
		// then that is what happened, not that the transaction is over.
		if ctx.Err() != nil && errors.Is(err, sql.ErrTxDone) {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("commit: %w", err)
	}
	return own.missed, nil
}
