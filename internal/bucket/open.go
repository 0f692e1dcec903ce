package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gocloud.dev/gcerrors"

	"deepfaked/internal/spool"
)

// Open fetches an object into a file of the spool that has no name, and shows
// that it has the SHA-256 and, where it is known, the size that it was parked
// with. The error matches spool.ErrLost when there is no such object,
// spool.ErrDamaged when it is another, spool.ErrAway when the store does not
// answer, and spool.ErrFull when the spool has no room. The caller closes the
// file, which leaves the object.
func (b *Bucket) Open(ctx context.Context, name, sum string, size int64) (*spool.File, error) {
	file, err := b.spool.Create()
	if err != nil {
		return nil, err
	}
	err = b.fetch(ctx, name, size, file)
	if err == nil && file.SHA256() != sum {
		err = fmt.Errorf("bucket: %w: its SHA-256 is %s and was %s", spool.ErrDamaged, file.SHA256(), sum)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// fetch writes an object to a file.
func (b *Bucket) fetch(ctx context.Context, name string, size int64, to *spool.File) (err error) {
	within, beat, stop := b.watch(ctx)
	defer stop()
	object, err := b.blobs.NewReader(within, name, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return b.missing(ctx, err)
	}
	if err != nil {
		return away(ctx, "open an upload", err, context.Cause(within))
	}
	defer func() { _ = object.Close() }() // it was only read
	// Some stores send in chunks and state no length.
	if stated := object.Size(); size > 0 && stated > 0 && stated != size {
		return fmt.Errorf("bucket: %w: it has %d bytes and had %d", spool.ErrDamaged, object.Size(), size)
	}
	from := &download{from: object, beat: beat}
	_, err = io.Copy(to, from)
	switch {
	case from.err == nil:
		return err
	case to.Size() > 0 && to.Size() == max(size, object.Size()):
		return nil // a checksum of the store's client was wrong; ours will be, too
	}
	return away(ctx, "read an upload", from.err, context.Cause(within))
}

// missing tells a lost object from a lost bucket, which may come back.
func (b *Bucket) missing(ctx context.Context, err error) error {
	within, cancel := context.WithTimeoutCause(ctx, b.stall, errStalled)
	defer cancel()
	there, errBucket := b.blobs.IsAccessible(within)
	switch {
	case there:
		return fmt.Errorf("bucket: %w: %w", spool.ErrLost, err)
	case errBucket != nil:
		err = errBucket
	}
	return away(ctx, "find an upload", err, context.Cause(within))
}

// download keeps the error of reading, which is the store's, from that of
// writing, which is ours.
type download struct {
	from io.Reader
	beat func()
	err  error
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	n, err := d.from.Read(p)
	d.beat()
	if err != nil && !errors.Is(err, io.EOF) {
		d.err = err
	}
	return n, err
}
