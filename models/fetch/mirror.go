package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Copy takes the file from a mirror instead of its address, and checks it in the
// same way.
func Copy(file File, from, path string, opts Options) error {
	if err := opts.Validate(); err != nil {
		return err
	}
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the mirror has no %s, which would be a copy of %s", from, file.URL)
	}
	if err != nil {
		return fmt.Errorf("read the mirror: %w", err)
	}
	defer in.Close() //nolint:errcheck // nothing was written
	limit := file.Bytes
	if limit == 0 {
		limit = opts.Limit
	}
	if err := write(path+partSuffix, in, limit); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	opts.report(file.Bytes)
	return settle(from, file.SHA256, path)
}

// write makes a new file of at most limit bytes, or none: unlike a download, a copy has nothing to go on with.
func write(path string, in io.Reader, limit int64) (err error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, out.Close()); err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	n, err := io.Copy(out, io.LimitReader(in, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return err
}

// digest is the SHA-256 of a file in lower-case hex.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
