package bucket

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// checkTime bounds the look at a bucket at the start.
const checkTime = 30 * time.Second

// probe begins the names of objects that are written to see what the store does
// and what time it is. No upload has such a name.
const probe = "deepfaked-probe-"

// refused is what could not be done to a bucket.
type refused struct {
	doing string
	err   error
}

// Error implements error.
func (r *refused) Error() string { return r.doing + ": " + r.err.Error() }

// Unwrap gives the store's error.
func (r *refused) Unwrap() error { return r.err }

// check shows that all can be done that jobs need. It leaves nothing.
func (b *Bucket) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, checkTime, errStalled)
	defer cancel()
	name, text := probe+rand.Text(), []byte("deepfaked")
	if err := b.write(ctx, name, text); err != nil {
		return &refused{"written to", err}
	}
	got, errRead := b.blobs.ReadAll(ctx, name)
	_, _, errList := b.blobs.ListPage(ctx, blob.FirstPageToken, 1, nil)
	errDelete := b.blobs.Delete(ctx, name)
	switch {
	case errRead != nil:
		return &refused{"read from", errRead}
	case !bytes.Equal(got, text):
		return &refused{"trusted", errors.New("it gives back other bytes than it was given")}
	case errList != nil:
		return &refused{"listed", errList}
	case errDelete != nil:
		return &refused{"cleared", errDelete}
	}
	return nil
}

// explain words what check has found for the operator.
func explain(address string, err error) error {
	doing := "used"
	if r, ok := errors.AsType[*refused](err); ok {
		doing, err = r.doing, r.err
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return fmt.Errorf("uploads: the bucket of %s does not exist; make it or correct the address: %w", address, err)
	case gcerrors.PermissionDenied:
		return fmt.Errorf("uploads: %s can't be %s with these credentials; give them the right to write, read, list and delete objects: %w", address, doing, err)
	}
	if errors.Is(err, errStalled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("uploads: %s did not answer within %v; see that it runs and that the address is right: %w", address, checkTime, err)
	}
	return fmt.Errorf("uploads: %s can't be %s; see to the address and to the credentials, which come from where the provider's own tools take them "+
		"(such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY): %w", address, doing, err)
}

// now is the time by the clock of the store.
func (b *Bucket) now(ctx context.Context) (time.Time, error) {
	within, cancel := context.WithTimeoutCause(ctx, b.stall, errStalled)
	defer cancel()
	name := probe + rand.Text()
	if err := b.write(within, name, nil); err != nil {
		return time.Time{}, away(ctx, "ask for the time", err, context.Cause(within))
	}
	attributes, err := b.blobs.Attributes(within, name)
	if err = errors.Join(err, b.blobs.Delete(within, name)); err != nil {
		return time.Time{}, away(ctx, "ask for the time", err, context.Cause(within))
	}
	return attributes.ModTime, nil
}

// write puts a few bytes into the store. The obvious way, WriteAll, hands them over through a pipe, at whose
// end gocloud.dev panics where Azure did not take them.
func (b *Bucket) write(ctx context.Context, name string, text []byte) error {
	return b.blobs.Upload(ctx, name, bytes.NewReader(text), &blob.WriterOptions{ContentType: "text/plain; charset=utf-8"})
}
