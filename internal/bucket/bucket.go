package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/s3blob"    // s3://
	"gocloud.dev/gcerrors"

	"deepfaked/internal/redact"
	"deepfaked/internal/spool"
)

// Stall is how long the store may do nothing before it is taken to be away.
const Stall = time.Minute

// errStalled says why an operation was broken off.
var errStalled = errors.New("nothing has moved for too long")

// Bucket keeps uploads as objects that have their names. It is safe for
// concurrent use.
type Bucket struct {
	blobs *blob.Bucket
	spool *spool.Spool
	stall time.Duration
}

// Open opens the bucket of a URL such as s3://uploads?region=eu-central-1, and
// shows that objects can be written, read, listed and deleted there. Further
// words of the URL are those that gocloud.dev documents for its scheme;
// credentials come from where the provider's own tools take them. What is opened
// from the bucket lies in s, within its capacity; what the client of S3 has to say goes to logger. The error is a sentence for the
// operator, without passwords and keys that stand in the address. The caller closes the bucket, and
// s after it.
func Open(ctx context.Context, address string, s *spool.Spool, logger *slog.Logger) (*Bucket, error) {
	b, err := openBucket(ctx, address, s, logger)
	return b, redact.Error(err)
}

func openBucket(ctx context.Context, address string, s *spool.Spool, logger *slog.Logger) (*Bucket, error) {
	if err := checkEndpoint(address); err != nil {
		return nil, err
	}
	blobs, err := blob.OpenBucket(ctx, withoutChecksums(address))
	if err != nil {
		return nil, fmt.Errorf("uploads: %s can't be opened: %w", address, err)
	}
	b := &Bucket{blobs: blobs, spool: s, stall: Stall}
	err = listen(ctx, address, blobs, logger)
	if err == nil {
		err = b.check(ctx)
	}
	if err != nil {
		return nil, errors.Join(explain(address, err), b.Close())
	}
	return b, nil
}

// checkEndpoint refuses an endpoint that can't be read: the client would say so in words that
// have a part of the password in them.
func checkEndpoint(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("uploads: the address can't be read")
	}
	if _, err := url.Parse(u.Query().Get("endpoint")); err != nil {
		return errors.New("uploads: the endpoint in the address can't be read: it must look like http://HOST:PORT")
	}
	return nil
}

// withoutChecksums tells the client of S3 not to check what it reads, unless the
// operator does: we do so, and it would write to standard error of each object
// that it can't check.
func withoutChecksums(address string) string {
	const word = "response_checksum_validation"
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Query().Has(word) {
		return address
	}
	query := u.Query()
	query.Set(word, "when_required")
	u.RawQuery = query.Encode()
	return u.String()
}

// Close ends what is under way.
func (b *Bucket) Close() error {
	if err := b.blobs.Close(); err != nil {
		return fmt.Errorf("uploads: close the bucket: %w", err)
	}
	return nil
}

// Discard deletes an object. One that is not there is no error.
func (b *Bucket) Discard(ctx context.Context, name string) error {
	within, cancel := context.WithTimeoutCause(ctx, b.stall, errStalled)
	defer cancel()
	err := b.blobs.Delete(within, name)
	if err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return away(ctx, "delete an upload", err, context.Cause(within))
	}
	return nil
}

// Parked lists the objects, but for what killed processes left of looks at the
// store, which it removes. Their age is by the clock of the store, which is asked
// for it by writing an object: that of this machine may be wrong.
func (b *Bucket) Parked(ctx context.Context) ([]spool.Parked, error) {
	objects, err := b.list(ctx, "")
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	now, err := b.now(ctx)
	if err != nil {
		return nil, err
	}
	var parked []spool.Parked
	for _, o := range objects {
		age := now.Sub(o.ModTime)
		switch {
		case strings.HasPrefix(o.Key, owner):
		case !strings.HasPrefix(o.Key, probe):
			parked = append(parked, spool.Parked{Name: o.Key, Age: age})
		case age > 2*max(b.stall, checkTime):
			err = errors.Join(err, b.Discard(ctx, o.Key))
		}
	}
	return parked, err
}

// list lists the objects whose names begin with prefix.
func (b *Bucket) list(ctx context.Context, prefix string) ([]*blob.ListObject, error) {
	within, beat, stop := b.watch(ctx)
	defer stop()
	var objects []*blob.ListObject
	for pages := b.blobs.List(&blob.ListOptions{Prefix: prefix}); ; beat() {
		o, err := pages.Next(within)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, away(ctx, "list uploads", err, context.Cause(within))
		}
		objects = append(objects, o)
	}
}

// watch ends the context it returns when beat has not been called for as long as
// the store may stall. The caller stops it.
func (b *Bucket) watch(ctx context.Context) (within context.Context, beat, stop func()) {
	within, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(b.stall, func() { cancel(errStalled) })
	return within, func() { timer.Reset(b.stall) }, func() {
		timer.Stop()
		cancel(nil)
	}
}

// away says that the store failed, unless it was the caller who gave up.
func away(ctx context.Context, doing string, err, cause error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("bucket: %s: %w: %w", doing, ctx.Err(), err)
	}
	if errors.Is(cause, errStalled) {
		err = cause // the rest is only that it was broken off
	}
	return fmt.Errorf("bucket: %s: %w: %w", doing, spool.ErrAway, err)
}
