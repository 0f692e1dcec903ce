package account

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/store"
)

// aloneWith opens new books that one process keeps, and an account of a plan with
// that allowance and no daily limit.
func aloneWith(t *testing.T, scans int) (*Ledger, Account) {
	t.Helper()
	plan := Plan{Name: "pro", RequestsPerMinute: 1, Scans: scans, Period: Monthly, Async: true}
	l := open(t, filepath.Join(t.TempDir(), alone), at("2026-01-15T12:00:00Z"), plan)
	return l, join(t, l, "ann", "pro")
}

// A place that was reserved in the books before a scan and turned into one after it
// was two transactions: 25 writes and 21 locks of files for a picture, and a wait for
// the disk of whoever was ending.
func TestASynchronousPlaceIsInMemory(t *testing.T) {
	t.Parallel()
	l, a := aloneWith(t, 2)
	left, counted := reserve(t, l, a, false), reserve(t, l, a, false)
	_, reserved, err := places(t.Context(), l, a)
	require.NoError(t, err)
	assert.Zero(t, reserved, "what the books have")
	require.ErrorIs(t, l.Check(t.Context(), a), ErrQuotaExceeded)
	require.NoError(t, l.Release(t.Context(), left))
	settle(t, l, counted)
	assert.Equal(t, 1, usage(t, l, a).Used)
	reserve(t, l, a, true)
	require.ErrorIs(t, l.Reserve(t.Context(), a, Submission{ID: NewDetectionID()}), ErrQuotaExceeded, "a job has the last one")
	assert.Empty(t, l.own.held)
}

// What counts for the day is in the books at once: it outlives the process.
func TestADayIsNotKeptInMemory(t *testing.T) {
	t.Parallel()
	dir, c := filepath.Join(t.TempDir(), alone), at("2026-01-15T12:00:00Z")
	l := open(t, dir, c)
	a := join(t, l, "ann", "free")
	reserve(t, l, a, false)
	assert.Empty(t, l.own.held)
	var submitted int
	require.NoError(t, l.store.Reader().QueryRowContext(t.Context(), `SELECT count FROM submissions`).Scan(&submitted))
	assert.Equal(t, 1, submitted)
}

// A process that is killed takes its places with it, and what it has counted stays.
func TestPlacesInMemoryEndWithTheProcess(t *testing.T) {
	t.Parallel()
	dir, c := filepath.Join(t.TempDir(), alone), at("2026-01-15T12:00:00Z")
	plan := Plan{Name: "pro", RequestsPerMinute: 1, Scans: 3, Period: Monthly}
	l := open(t, dir, c, plan)
	a := join(t, l, "ann", "pro")
	settle(t, l, reserve(t, l, a, false))
	left := reserve(t, l, a, false)
	require.NoError(t, l.process.Leave())

	next := open(t, dir, c, plan)
	recovered(t, next, 0)
	assert.Equal(t, 1, usage(t, next, a).Used)
	_, err := next.Settle(t.Context(), left, outcome)
	require.ErrorIs(t, err, ErrNotFound)
	reserve(t, next, a, false)
	reserve(t, next, a, false)
	require.ErrorIs(t, next.Check(t.Context(), a), ErrQuotaExceeded)
}

// commit writes the scan of a detection into the books and leaves its place in memory,
// as between the commit and the end of the place.
func commit(t *testing.T, l *Ledger, id string) {
	t.Helper()
	require.NoError(t, l.store.Write(t.Context(), func(tx *store.Tx) error {
		_, err := l.settle(t.Context(), tx, id, outcome)
		return err
	}))
}

// Between the commit and the end of the place in memory a scan counts twice. Who
// asks for the last place meanwhile is not refused for it.
func TestAPlaceIsNotCountedTwice(t *testing.T) {
	t.Parallel()
	l, a := aloneWith(t, 2)
	id := reserve(t, l, a, false)
	l.own.turn <- struct{}{}
	commit(t, l, id)
	answers := make(chan error, 2)
	go func() { answers <- l.Check(t.Context(), a) }()
	go func() { answers <- l.Reserve(t.Context(), a, Submission{ID: NewDetectionID()}) }()
	select {
	case err := <-answers:
		t.Errorf("there was an answer before anybody could know it: %v", err)
		answers <- err
	case <-time.After(50 * time.Millisecond):
	}
	l.own.drop(id)
	<-l.own.turn
	var refused int
	for range 2 {
		if err := <-answers; !errors.Is(err, ErrQuotaExceeded) {
			require.NoError(t, err)
		} else {
			refused++ // Check, where Reserve was before it
		}
	}
	assert.LessOrEqual(t, refused, 1)
	assert.Len(t, l.own.held, 1)
}

// A job held its place while it waited for the books, and a scan that found none left
// was refused for it though the queue took no more jobs and nothing was accepted.
func TestAPlaceThatComesToNothingRefusesNobody(t *testing.T) {
	t.Parallel()
	l, a := aloneWith(t, 1)
	full, inside, on := errors.New("the queue is full"), make(chan struct{}), make(chan struct{})
	jobs, scans := make(chan error, 1), make(chan error, 1)
	go func() {
		job := Request{a, Submission{ID: NewDetectionID(), Async: true, Sensitivity: "strict"}}
		jobs <- l.ReserveAll(t.Context(), []Request{job}, func(context.Context, *store.Tx) error {
			close(inside)
			<-on
			return full
		})
	}()
	<-inside
	go func() { scans <- l.Reserve(t.Context(), a, Submission{ID: NewDetectionID(), Sensitivity: "strict"}) }()
	select {
	case err := <-scans:
		t.Fatalf("there was an answer before the job had one: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(on)
	require.ErrorIs(t, <-jobs, full)
	require.NoError(t, <-scans)
}

// Check reads, and waits for others only where places in memory leave no room: then
// not for longer than a client may wait for what is read. Reserve decides.
func TestCheckDoesNotWaitForLong(t *testing.T) {
	t.Parallel()
	l, a := aloneWith(t, 1)
	l.look = 2 * time.Second // in which a slow machine reads too
	reserve(t, l, a, false)
	l.own.turn <- struct{}{}
	require.NoError(t, l.Check(t.Context(), a))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, l.Check(gone, a), context.Canceled)
	require.ErrorIs(t, l.Reserve(gone, a, Submission{ID: NewDetectionID()}), context.Canceled)
	<-l.own.turn
	require.ErrorIs(t, l.Check(t.Context(), a), ErrQuotaExceeded)
}

// A commit may take effect though it was not heard of. Who settles again gets what is
// stored, it counts once, and the place is given back.
func TestACommitThatWasNotHeardOf(t *testing.T) {
	t.Parallel()
	l, a := aloneWith(t, 2)
	id := reserve(t, l, a, false)
	commit(t, l, id)
	d, err := l.Settle(t.Context(), id, Outcome{Kind: "image", Verdict: "real", Confidence: .5})
	require.NoError(t, err)
	assert.Equal(t, outcome.Verdict, d.Verdict)
	assert.Equal(t, 1, usage(t, l, a).Used)
	assert.Empty(t, l.own.held)
	assert.Empty(t, l.own.taken)
}

// Clients of one account fight for its places with scans and jobs at once. At no
// moment are more taken than there are, and as many are had as there are.
func TestTheQuotaHoldsInMemory(t *testing.T) {
	t.Parallel()
	const limit = 120
	l, a := aloneWith(t, limit)
	var succeeded, refused atomic.Int64
	var group sync.WaitGroup
	for range 24 {
		group.Go(func() {
			for range 20 {
				ok, err := oneOfAKind(t, l, a)
				switch {
				case errors.Is(err, ErrQuotaExceeded):
					refused.Add(1)
				case assert.NoError(t, err) && ok:
					succeeded.Add(1)
				}
				assert.NoError(t, l.own.inTurn(t.Context(), func() error {
					l.own.mu.Lock()
					defer l.own.mu.Unlock()
					used, reserved, err := places(t.Context(), l, a)
					assert.LessOrEqual(t, used+reserved+len(l.own.held), limit)
					return err
				}))
			}
		})
	}
	group.Wait()
	used, reserved, err := places(t.Context(), l, a)
	require.NoError(t, err)
	assert.EqualValues(t, succeeded.Load(), used)
	assert.Zero(t, reserved)
	assert.Empty(t, l.own.held)
	assert.Positive(t, refused.Load())
	for range limit - used {
		settle(t, l, reserve(t, l, a, rand.IntN(2) == 0))
	}
	assert.ErrorIs(t, l.Check(t.Context(), a), ErrQuotaExceeded)
}

// oneOfAKind is a scan or a job that is counted, or one that is given back.
func oneOfAKind(t *testing.T, l *Ledger, a Account) (counted bool, err error) {
	t.Helper()
	id := NewDetectionID()
	if err := l.Reserve(t.Context(), a, Submission{ID: id, Async: rand.IntN(3) == 0, Sensitivity: "strict"}); err != nil {
		return false, err
	}
	if rand.IntN(3) == 0 {
		return false, l.Release(t.Context(), id)
	}
	_, err = l.Settle(t.Context(), id, outcome)
	return true, err
}
