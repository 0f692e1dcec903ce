package account

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/store"
)

// impatient opens the books of dir with a busy timeout that a test can wait for.
func impatient(t *testing.T, dir string, c *clock) *Ledger {
	t.Helper()
	opts := store.DefaultOptions()
	opts.BusyTimeout = 5 * time.Millisecond
	s, err := store.Open(t.Context(), dir, opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	plans := DefaultPlans()
	plans[1].Daily = 9 // starter's
	l, err := New(s, Options{Plans: plans, Now: c.Now})
	require.NoError(t, err)
	return l
}

// hold has another connection keep SQLite's write lock until the returned
// function is called.
func hold(t *testing.T, dir string) (letGo func()) {
	t.Helper()
	other, err := store.Open(t.Context(), dir, store.DefaultOptions())
	require.NoError(t, err)
	held, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- other.Write(context.WithoutCancel(t.Context()), func(*store.Tx) error {
			close(held)
			<-end
			return nil
		})
	}()
	<-held
	return func() {
		close(end)
		require.NoError(t, <-ended)
		require.NoError(t, other.Close())
	}
}

// A release was tried once. An operator's backup that held the database for
// longer than the busy timeout thus cost each account that was being served a
// place, until the service was started again: enough such moments, and a plan
// answered quota_exceeded with nothing used.
func TestEndsThatTheDatabaseDidNotTake(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		end  func(l *Ledger, id string) error
		left string // state of the detection afterwards; empty: gone
		day  int    // submissions that the day still counts
	}{
		{"release", func(l *Ledger, id string) error { return l.Release(t.Context(), id) }, "", 1},
		{"withdraw", func(l *Ledger, id string) error { return l.Withdraw(t.Context(), id) }, "", 0},
		{"fail", func(l *Ledger, id string) error { return l.Fail(t.Context(), id, "It broke.") }, "failed It broke.", 1},
		{"settle, then release", func(l *Ledger, id string) error {
			_, err := l.Settle(t.Context(), id, outcome)
			require.Error(t, err)
			return l.Release(t.Context(), id)
		}, "", 1},
		{"release, twice", func(l *Ledger, id string) error {
			require.Error(t, l.Release(t.Context(), id))
			return l.Release(t.Context(), id)
		}, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, c := t.TempDir(), at("2026-01-15T12:00:00Z")
			l := impatient(t, dir, c)
			a := join(t, l, "ann", "starter")
			id := reserve(t, l, a, true)

			letGo := hold(t, dir)
			require.ErrorContains(t, tt.end(l, id), "locked")
			left, err := l.Retry(t.Context())
			require.ErrorContains(t, err, "locked")
			require.ErrorContains(t, err, id)
			assert.Equal(t, 1, left)

			letGo()
			left, err = l.Retry(t.Context())
			require.NoError(t, err)
			assert.Zero(t, left)
			used, reserved, err := places(t.Context(), l, a)
			require.NoError(t, err)
			assert.Zero(t, used)
			assert.Zero(t, reserved)
			assert.Equal(t, tt.left, stateOf(t, l, a, id))
			var day int
			require.NoError(t, l.store.Reader().QueryRowContext(t.Context(), `SELECT count FROM submissions`).Scan(&day))
			assert.Equal(t, tt.day, day)
		})
	}
}

func stateOf(t *testing.T, l *Ledger, a Account, id string) string {
	t.Helper()
	d, err := l.Detection(t.Context(), a, id)
	if err != nil {
		require.ErrorIs(t, err, ErrNotFound)
		return ""
	}
	return string(d.State) + " " + d.Error
}

// What will never be different is not tried again.
func TestRetryForgetsWhatIsDecided(t *testing.T) {
	t.Parallel()
	dir, c := t.TempDir(), at("2026-01-15T12:00:00Z")
	l := impatient(t, dir, c)
	a := join(t, l, "ann", "starter")
	done, running := reserve(t, l, a, true), reserve(t, l, a, true)
	settle(t, l, done)
	require.ErrorIs(t, l.Fail(t.Context(), done, "Late."), ErrComplete)
	require.ErrorIs(t, l.Fail(t.Context(), "det_none", "Nobody's."), ErrNotFound)
	others := func(context.Context, *store.Tx) error { return ErrSuperseded }
	require.ErrorIs(t, l.Fail(t.Context(), running, "Another has the job.", others), ErrSuperseded)
	left, err := l.Retry(t.Context())
	require.NoError(t, err)
	require.Zero(t, left)

	// It may also be decided by the time that the database works again.
	letGo := hold(t, dir)
	require.Error(t, l.Fail(t.Context(), running, "Locked."))
	letGo()
	settle(t, l, running)
	left, err = l.Retry(t.Context())
	require.NoError(t, err)
	assert.Zero(t, left)
	assert.Equal(t, "complete ", stateOf(t, l, a, running))
}

// The list must not grow without bound, nor may one end that never works keep
// the others from being written.
func TestOwedIsBoundedAndFair(t *testing.T) {
	t.Parallel()
	var o owed
	for i := range maxOwed + 5 {
		o.add(fmt.Sprint(i%(maxOwed+2)), nil)
	}
	assert.Equal(t, maxOwed, o.count())

	l, _ := setup(t, sqlite)
	a := join(t, l, "ann", "starter")
	id := reserve(t, l, a, false)
	l.owed.add("det_bad", func(context.Context, *store.Tx) error { return fmt.Errorf("never") })
	l.owed.add(id, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM detections WHERE id = $1`, id)
		return err
	})
	left, err := l.Retry(t.Context())
	require.ErrorContains(t, err, "det_bad")
	assert.Equal(t, 2, left)
	left, err = l.Retry(t.Context())
	require.ErrorContains(t, err, "det_bad")
	assert.Equal(t, 1, left)
	_, reserved, err := places(t.Context(), l, a)
	require.NoError(t, err)
	assert.Zero(t, reserved)
}
