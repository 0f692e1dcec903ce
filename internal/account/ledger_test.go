package account

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASynchronousDetection(t *testing.T) {
	t.Parallel()
	onAll(t, testASynchronousDetection)
}

func testASynchronousDetection(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh)
	a := join(t, l, "ann", "free")
	id := reserve(t, l, a, false)
	_, err := l.Detection(t.Context(), a, id)
	require.ErrorIs(t, err, ErrNotFound, "it has no observable state")
	assert.Zero(t, usage(t, l, a).Used, "a reservation is no scan")

	created := c.Now()
	c.add(time.Second)
	want := Detection{
		ID: id, State: Complete, Sensitivity: "strict", Outcome: outcome, Created: created, Completed: c.Now(),
	}
	assert.Equal(t, want, settle(t, l, id))
	got, err := l.Detection(t.Context(), a, id)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, Usage{Plan: "free", Used: 1, Limit: 200, Remaining: 199, PeriodStart: a.Created}, usage(t, l, a))
}

func TestAnAsynchronousDetection(t *testing.T) {
	t.Parallel()
	onAll(t, testAnAsynchronousDetection)
}

func testAnAsynchronousDetection(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh)
	a := join(t, l, "ann", "pro")
	id := reserve(t, l, a, true)
	want := Detection{ID: id, Async: true, State: Processing, Sensitivity: "strict", Created: c.Now()}
	got, err := l.Detection(t.Context(), a, id)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	c.add(time.Second)
	want.State, want.Outcome, want.Completed = Complete, outcome, c.Now()
	assert.Equal(t, want, settle(t, l, id))
	got, err = l.Detection(t.Context(), a, id)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestDetectionsAreTheirAccountsOwn(t *testing.T) {
	t.Parallel()
	onAll(t, testDetectionsAreTheirAccountsOwn)
}

func testDetectionsAreTheirAccountsOwn(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	ann, bob := join(t, l, "ann", "pro"), join(t, l, "bob", "pro")
	id := reserve(t, l, ann, true)
	for name, tt := range map[string]struct {
		account Account
		id      string
	}{
		"another account": {bob, id}, "unknown": {ann, NewDetectionID()}, "empty": {ann, ""}, "wildcard": {ann, "%"},
	} {
		_, err := l.Detection(t.Context(), tt.account, tt.id)
		assert.ErrorIs(t, err, ErrNotFound, name)
	}
	settle(t, l, id)
	assert.Equal(t, 1, usage(t, l, ann).Used)
	assert.Zero(t, usage(t, l, bob).Used)
}

func TestSettleTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	onAll(t, testSettleTwiceCountsOnce)
}

func testSettleTwiceCountsOnce(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh)
	a := join(t, l, "ann", "pro")
	id := reserve(t, l, a, true)
	first := settle(t, l, id)
	c.add(time.Minute)
	again, err := l.Settle(t.Context(), id, Outcome{Kind: "audio", Verdict: "real", Confidence: 1})
	require.NoError(t, err)
	assert.Equal(t, first, again, "the first outcome stays")
	assert.Equal(t, 1, usage(t, l, a).Used)
}

func TestFail(t *testing.T) {
	t.Parallel()
	onAll(t, testFail)
}

func testFail(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh)
	a := join(t, l, "ann", "pro")
	id := reserve(t, l, a, true)
	require.NoError(t, l.Fail(t.Context(), id, "The file is damaged."))
	want := Detection{
		ID: id, Async: true, State: Failed, Sensitivity: "strict", Error: "The file is damaged.",
		Created: c.Now(), Completed: c.Now(),
	}
	require.NoError(t, l.Fail(t.Context(), id, "Something else."))
	got, err := l.Detection(t.Context(), a, id)
	require.NoError(t, err)
	assert.Equal(t, want, got, "the first sentence stays")

	_, err = l.Settle(t.Context(), id, outcome)
	require.ErrorIs(t, err, ErrFailed)
	used, reserved, err := places(t.Context(), l, a)
	require.NoError(t, err)
	assert.Zero(t, used+reserved)
}

func TestFailAfterSettle(t *testing.T) {
	t.Parallel()
	onAll(t, testFailAfterSettle)
}

func testFailAfterSettle(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	a := join(t, l, "ann", "pro")
	id := reserve(t, l, a, true)
	settle(t, l, id)
	require.ErrorIs(t, l.Fail(t.Context(), id, "Too late."), ErrComplete)
	require.ErrorIs(t, l.Fail(t.Context(), NewDetectionID(), "Unknown."), ErrNotFound)
	assert.Equal(t, 1, usage(t, l, a).Used)
}

func TestRelease(t *testing.T) {
	t.Parallel()
	onAll(t, testRelease)
}

func testRelease(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	a := join(t, l, "ann", "free")
	for range 10 {
		id := reserve(t, l, a, false)
		require.NoError(t, l.Release(t.Context(), id))
		require.NoError(t, l.Release(t.Context(), id), "releasing again does nothing")
		_, err := l.Settle(t.Context(), id, outcome)
		require.ErrorIs(t, err, ErrNotFound)
	}
	used, reserved, err := places(t.Context(), l, a)
	require.NoError(t, err)
	assert.Zero(t, used+reserved)
	var limit *LimitError
	require.ErrorAs(t, l.Check(t.Context(), a), &limit, "submissions of the day stay counted")
}

// Ten free users who met a busy service ten times had used up their day without
// one analysis: a submission that was turned away counted as accepted.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	onAll(t, testWithdraw)
}

func testWithdraw(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	a := join(t, l, "ann", "free")
	for range 11 {
		id := reserve(t, l, a, false)
		require.NoError(t, l.Withdraw(t.Context(), id))
		require.NoError(t, l.Withdraw(t.Context(), id), "withdrawing again does nothing")
		_, err := l.Detection(t.Context(), a, id)
		require.ErrorIs(t, err, ErrNotFound)
	}
	used, reserved, err := places(t.Context(), l, a)
	require.NoError(t, err)
	assert.Zero(t, used+reserved)
	complete := reserve(t, l, a, false)
	settle(t, l, complete)
	settle(t, l, reserve(t, l, a, false))
	require.NoError(t, l.Withdraw(t.Context(), complete))
	require.NoError(t, l.Withdraw(t.Context(), complete))
	assert.Equal(t, 1, usage(t, l, a).Used, "its client was told of no result")
}

func TestReleaseKeepsWhatIsFinished(t *testing.T) {
	t.Parallel()
	onAll(t, testReleaseKeepsWhatIsFinished)
}

func testReleaseKeepsWhatIsFinished(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	a := join(t, l, "ann", "pro")
	complete, failed := reserve(t, l, a, true), reserve(t, l, a, true)
	settle(t, l, complete)
	require.NoError(t, l.Fail(t.Context(), failed, "It failed."))
	for _, id := range []string{complete, failed} {
		require.NoError(t, l.Release(t.Context(), id))
		_, err := l.Detection(t.Context(), a, id)
		require.NoError(t, err)
	}
	assert.Equal(t, 1, usage(t, l, a).Used)
}

// A client that goes away cancels the request's context, and it is just then
// that its place has to be given back.
func TestFinishingOutlivesTheRequest(t *testing.T) {
	t.Parallel()
	onAll(t, testFinishingOutlivesTheRequest)
}

func testFinishingOutlivesTheRequest(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	a := join(t, l, "ann", "pro")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	released, failed, settled := reserve(t, l, a, false), reserve(t, l, a, true), reserve(t, l, a, true)
	require.NoError(t, l.Release(gone, released))
	require.NoError(t, l.Fail(gone, failed, "The service is stopping."))
	_, err := l.Settle(gone, settled, outcome)
	require.NoError(t, err)
	used, reserved, err := places(t.Context(), l, a)
	require.NoError(t, err)
	assert.Equal(t, 1, used)
	assert.Zero(t, reserved)
	require.ErrorIs(t, l.Reserve(gone, a, Submission{ID: NewDetectionID()}), context.Canceled)
}

// leaving is the context of a request whose client leaves as soon as somebody looks
// whether it has.
type leaving struct {
	context.Context //nolint:containedctx // it is one

	left atomic.Bool
}

func (l *leaving) Done() <-chan struct{} {
	l.left.Store(true)
	gone := make(chan struct{})
	close(gone)
	return gone
}

func (l *leaving) Err() error {
	if l.left.Load() {
		return context.Canceled
	}
	return nil
}

// A client that left while its place was being committed broke the commit off, and on
// PostgreSQL it could take effect after the place had been given back: the place was
// lost to the account for as long as the process lived.
func TestReservingOutlivesTheRequest(t *testing.T) {
	t.Parallel()
	onBoth(t, testReservingOutlivesTheRequest)
}

func testReservingOutlivesTheRequest(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	a, id := join(t, l, "ann", "pro"), NewDetectionID()
	require.NoError(t, l.Reserve(&leaving{Context: t.Context()}, a, Submission{ID: id, Sensitivity: "strict"}))
	require.NoError(t, l.Release(t.Context(), id))
	_, reserved, err := places(t.Context(), l, a)
	require.NoError(t, err)
	assert.Zero(t, reserved)
}

func TestReserveRefusesAnIDTwice(t *testing.T) {
	t.Parallel()
	onBoth(t, testReserveRefusesAnIDTwice)
}

func testReserveRefusesAnIDTwice(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	a := join(t, l, "ann", "pro")
	id := reserve(t, l, a, true)
	require.Error(t, l.Reserve(t.Context(), a, Submission{ID: id, Sensitivity: "strict"}))
	_, reserved, err := places(t.Context(), l, a)
	require.NoError(t, err)
	assert.Equal(t, 1, reserved)
}

func TestOptionsValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"defaults", func(*Options) {}, ""},
		{"no plans", func(o *Options) { o.Plans = nil }, "plans"},
		{"no clock", func(o *Options) { o.Now = nil }, "Now"},
		{"no name", func(o *Options) { o.Plans[0].Name = "" }, "name"},
		{"twice", func(o *Options) { o.Plans[1].Name = "free" }, "plans.free is defined twice"},
		{"no requests", func(o *Options) { o.Plans[0].RequestsPerMinute = 0 }, "plans.free.requests_per_minute must be at least 1"},
		{"negative day", func(o *Options) { o.Plans[1].Daily = -1 }, "plans.starter.daily must be at least 0"},
		{"no scans", func(o *Options) { o.Plans[2].Scans = 0 }, "plans.pro.scans must be at least 1"},
		{"period", func(o *Options) { o.Plans[2].Period = "weekly" }, "plans.pro.period must be lifetime or monthly"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := DefaultOptions()
			tt.change(&opts)
			if tt.want == "" {
				require.NoError(t, opts.Validate())
				return
			}
			_, err := New(nil, opts)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestDefaultPlansAreTheContracts(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []Plan{
		{"free", 5, 10, 200, Lifetime, false},
		{"starter", 20, 0, 2000, Monthly, true},
		{"pro", 60, 0, 10000, Monthly, true},
	}, DefaultPlans())
}
