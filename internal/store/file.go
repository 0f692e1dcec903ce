package store

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// FileName is the database's name in the data folder.
const FileName = "deepfaked.db"

// prepare makes the folder (0700) and the database file (0600), shows that
// both can be written to, and returns the absolute path of the file, whose permissions are the caller's to see to
// where it was there. SQLite gives its log and its shared memory the permissions of the database file. A file
// is not made beside the log of another, which SQLite would throw away.
func prepare(data string) (string, error) {
	dir, err := makeFolder(data)
	if err != nil {
		return "", err
	}
	probe, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return "", explain(dir, err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return "", explain(dir, err)
	}
	path := filepath.Join(dir, FileName)
	if err := bereft(path); err != nil {
		return "", err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", explain(dir, err)
	}
	return path, file.Close()
}

// bereft says that the database is not at its path although its log is: it was moved, deleted or
// emptied, perhaps under a service that runs, and has entries that are nowhere else.
func bereft(path string) error {
	// The log first: of a database that is being made there is none with entries before the file has some.
	if nothingIn(path+"-wal") || !nothingIn(path) {
		return nil
	}
	return fmt.Errorf("the database %s is gone or empty, and its log %s-wal is not: move the database back, or the log away to begin anew", path, path)
}

// nothingIn says that a file is not there or empty.
func nothingIn(name string) bool {
	info, err := os.Stat(name)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

// makeFolder makes the folder when it is absent and returns its absolute path.
func makeFolder(data string) (string, error) {
	dir, err := filepath.Abs(data)
	if err != nil {
		return "", fmt.Errorf("find the data folder %s: %w", data, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", explain(dir, err)
	}
	return dir, nil
}

// explain says in a sentence why the data folder can't be used.
func explain(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("the data folder %s is on a read-only file system; name another one with --data: %w", dir, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the data folder %s can't be written to by this user; change its owner or name another one with --data: %w", dir, err)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return fmt.Errorf("the data folder %s is not a folder: %w", dir, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), isFull(err):
		return fmt.Errorf("there is no space left for the data folder %s: %w", dir, err)
	}
	return fmt.Errorf("use the data folder %s: %w", dir, err)
}

// isFull says that SQLite found no space. It may be the first to, as an empty file can still be made;
// for the memory that it shares with other processes it has an error of its own.
func isFull(err error) bool {
	found, ok := errors.AsType[*sqlite.Error](err)
	return ok && (found.Code() == sqlite3.SQLITE_FULL || found.Code() == sqlite3.SQLITE_IOERR_SHMSIZE)
}

// dsn is the address of the database for the driver.
func dsn(path string, opts Options, readOnly bool) string {
	query := url.Values{"_pragma": {
		// First, since switching to WAL may have to wait for another process.
		busyTimeout(opts),
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"foreign_keys(1)",
	},
		// A file that goes missing is not made anew by the next connection that is opened.
		"mode": {"rw"},
		// The queue keeps times; without this they are Go's own text, which SQLite
		// can't compare.
		"_time_format": {"sqlite"},
	}
	if readOnly {
		query.Add("_pragma", "query_only(1)")
	} else {
		query.Set("_txlock", "immediate")
		// What is deleted is overwritten, or it could be read in the file until its place is taken.
		query.Add("_pragma", "secure_delete(1)")
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

// busyTimeout is the pragma that bounds the wait for another process.
func busyTimeout(opts Options) string {
	return "busy_timeout(" + strconv.FormatInt(opts.BusyTimeout.Milliseconds(), 10) + ")"
}
