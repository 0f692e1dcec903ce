package job

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/account"
	"deepfaked/preprocess"
)

// refusing are books that do not take the next ends of detections.
type refusing struct {
	Books

	ends atomic.Int64
}

func (b *refusing) refuse() error {
	if b.ends.Add(-1) >= 0 {
		return errors.New("no space left on device")
	}
	return nil
}

// SettleAll implements Books.
func (b *refusing) SettleAll(ctx context.Context, all []account.Ended, also ...account.Step) error {
	if err := b.refuse(); err != nil {
		return err
	}
	return b.Books.SettleAll(ctx, all, also...)
}

// Fail implements Books.
func (b *refusing) Fail(ctx context.Context, id, message string, also ...account.Step) error {
	if err := b.refuse(); err != nil {
		return err
	}
	return b.Books.Fail(ctx, id, message, also...)
}

// A database whose disk was nearly full took the few bytes that end an attempt, but
// no result: each try cost an attempt, and after the last one the client was told
// that the analysis had been given up, though it had come to its end each time. So
// it was with the reason why a file could not be analysed.
func TestEndsThatAreRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, testEndsThatAreRefused)
}

func testEndsThatAreRefused(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	for name, c := range map[string]struct {
		detect detector
		state  account.State
		failed string
		used   int
	}{
		"a result": {good, account.Complete, "", 1},
		"a failure": {
			failing(&preprocess.Error{Code: preprocess.UnsupportedMediaType, Message: "No media."}),
			account.Failed, "said No media.", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := enter(t, fresh(t))
			opts := options(1)
			opts.Attempts = 1
			books := &refusing{Books: f.ledger}
			books.ends.Store(3)
			var err error
			f.jobs, err = New(t.Context(), f.deps(c.detect, books), opts)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, f.jobs.Close(context.Background())) })
			require.NoError(t, f.jobs.Start(t.Context()))
			f.inherit()
			d := f.ended(f.submit(1)[0])
			assert.Equal(t, c.state, d.State)
			assert.Equal(t, c.failed, d.Error)
			assert.Negative(t, books.ends.Load(), "it was refused")
			f.used(c.used)
			f.empty()
		})
	}
}
