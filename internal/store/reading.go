package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// errReading is what becomes of writing to a database that is only read.
var errReading = errors.New("the database was opened for reading alone")

// readingEngine writes nothing.
type readingEngine struct{}

// transact implements engine.
func (readingEngine) transact(context.Context, bool, func(*Tx) error) error { return errReading }

// unwritable says that the data folder was found to be one that can't be written to.
func unwritable(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

// openReading opens the database of a folder that can't be written to.
func openReading(ctx context.Context, data string, opts Options, history []migration) (*Store, error) {
	dir, err := filepath.Abs(data)
	if err != nil {
		return nil, fmt.Errorf("find the data folder %s: %w", data, err)
	}
	path := filepath.Join(dir, FileName)
	if err := readable(path, path+"-wal"); err != nil {
		return nil, err
	}
	alone := nothingIn(path + "-wal")
	reader, err := openCompiled(readingDSN(path, opts, alone))
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", path, err)
	}
	reader.SetMaxOpenConns(opts.Readers)
	s := &Store{name: path, engine: readingEngine{}, reader: reader, close: closing(reader.Close)}
	if err := checkSchema(ctx, reader, history); err != nil {
		return nil, errors.Join(explainReading(path, err), s.Close())
	}
	return s, nil
}

// readable says which of the files this user can't read, if they are there: SQLite does not.
func readable(files ...string) error {
	for _, name := range files {
		file, err := os.Open(name)
		if errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("the database can't be read by this user: %w", err)
		}
		_ = file.Close() // of what is not there, too
	}
	return nil
}

// checkSchema refuses a schema that is not the one that the history leads to. It changes nothing.
func checkSchema(ctx context.Context, db *sql.DB, history []migration) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := refuseForeign(ctx, tx, sqliteCatalogue, history); err != nil {
		return err
	}
	return migrate(ctx, tx, history, false)
}

// readingDSN is the address of the database for the driver. Where nobody works
// on it SQLite need not make the memory beside it that it would share with others.
func readingDSN(path string, opts Options, alone bool) string {
	query := url.Values{"_pragma": {busyTimeout(opts), "query_only(1)"}, "mode": {"ro"}, "_time_format": {"sqlite"}}
	if alone {
		query.Set("immutable", "1")
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

// explainReading says what to do about a database that SQLite can't read without writing beside it.
func explainReading(path string, err error) error {
	if _, older := errors.AsType[*OlderSchemaError](err); older { // which would send people to a service
		return fmt.Errorf("the database %s is of an older version, and can't be brought up to date where nothing can be written: "+
			"copy the data folder, and name the copy with --data", path)
	}
	if found, ok := errors.AsType[*sqlite.Error](err); ok && found.Code()&0xff == sqlite3.SQLITE_CANTOPEN {
		return fmt.Errorf("the database %s was not closed in order, and can't be read where nothing can be written beside it: "+
			"copy the data folder, and name the copy with --data: %w", path, err)
	}
	return fmt.Errorf("open the database %s: %w", path, err)
}
