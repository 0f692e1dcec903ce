package account

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/store"
)

func TestPeriodStart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, plan, now, want string }{
		{"within a month", "pro", "2026-01-15T12:00:00Z", "2026-01-01T00:00:00Z"},
		{"first instant", "pro", "2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z"},
		{"last instant", "pro", "2026-01-31T23:59:59.999999999Z", "2026-01-01T00:00:00Z"},
		{"29 February", "starter", "2028-02-29T23:59:59Z", "2028-02-01T00:00:00Z"},
		{"after 29 February", "starter", "2028-03-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		{"year's end", "starter", "2026-12-31T23:59:59Z", "2026-12-01T00:00:00Z"},
		{"another zone, still January in UTC", "pro", "2026-02-01T01:30:00+02:00", "2026-01-01T00:00:00Z"},
		{"another zone, already February in UTC", "pro", "2026-01-31T20:00:00-05:00", "2026-02-01T00:00:00Z"},
		{"lifetime", "free", "2036-07-07T00:00:00Z", "2020-05-05T05:05:05.000005Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			created := at("2020-05-05T07:05:05.000005+02:00").Now()
			for _, p := range DefaultPlans() {
				if p.Name == tt.plan {
					start := p.PeriodStart(at(tt.now).Now(), created)
					assert.Equal(t, tt.want, start.Format(time.RFC3339Nano))
				}
			}
		})
	}
}

func TestAMonthEnds(t *testing.T) {
	t.Parallel()
	onAll(t, testAMonthEnds)
}

func testAMonthEnds(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh, Plan{Name: "pro", RequestsPerMinute: 1, Scans: 3, Period: Monthly, Async: true})
	a := join(t, l, "ann", "pro")
	c.set("2028-02-29T23:59:59.9Z")
	settle(t, l, reserve(t, l, a, true))
	settle(t, l, reserve(t, l, a, true))
	late := reserve(t, l, a, true)
	require.ErrorIs(t, l.Check(t.Context(), a), ErrQuotaExceeded)

	c.set("2028-03-01T00:00:00Z")
	assert.Equal(t, Usage{Plan: "pro", Limit: 3, Remaining: 3, PeriodStart: c.Now()}, usage(t, l, a))
	settle(t, l, late)
	assert.Zero(t, usage(t, l, a).Used, "its place was one of February's")
	for range 3 {
		settle(t, l, reserve(t, l, a, true))
	}
	require.ErrorIs(t, l.Check(t.Context(), a), ErrQuotaExceeded)
	assert.Equal(t, 0, usage(t, l, a).Remaining)
}

// With a place counted in the month in which it settles, this would make four
// scans of January's three.
func TestTheClockStepsBackOverAMonthsEnd(t *testing.T) {
	t.Parallel()
	onAll(t, testTheClockStepsBackOverAMonthsEnd)
}

func testTheClockStepsBackOverAMonthsEnd(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh, Plan{Name: "pro", RequestsPerMinute: 1, Scans: 3, Period: Monthly, Async: true})
	a := join(t, l, "ann", "pro")
	for range 3 {
		settle(t, l, reserve(t, l, a, true))
	}
	c.set("2026-02-01T00:00:00Z")
	february := reserve(t, l, a, true)
	c.set("2026-01-31T23:59:58Z")
	settle(t, l, february)
	assert.Equal(t, 3, usage(t, l, a).Used)
	require.ErrorIs(t, l.Check(t.Context(), a), ErrQuotaExceeded)
	c.set("2026-02-01T00:00:01Z")
	assert.Equal(t, 1, usage(t, l, a).Used)
	require.NoError(t, l.Check(t.Context(), a))
}

func TestALifetimeNeverEnds(t *testing.T) {
	t.Parallel()
	onAll(t, testALifetimeNeverEnds)
}

func testALifetimeNeverEnds(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh, Plan{Name: "free", RequestsPerMinute: 1, Scans: 2, Period: Lifetime})
	a := join(t, l, "ann", "free")
	settle(t, l, reserve(t, l, a, false))
	c.add(20 * 365 * 24 * time.Hour)
	settle(t, l, reserve(t, l, a, false))
	require.ErrorIs(t, l.Reserve(t.Context(), a, Submission{ID: NewDetectionID()}), ErrQuotaExceeded)
	assert.Equal(t, Usage{Plan: "free", Used: 2, Limit: 2, PeriodStart: a.Created}, usage(t, l, a))
	c.set("2019-01-01T00:00:00Z") // before the account was created
	require.ErrorIs(t, l.Check(t.Context(), a), ErrQuotaExceeded)
}

func TestAnAllowanceThatWasLowered(t *testing.T) {
	t.Parallel()
	onAll(t, testAnAllowanceThatWasLowered)
}

func testAnAllowanceThatWasLowered(t *testing.T, fresh database) {
	t.Helper()
	dir, c := fresh(t), at("2026-01-15T12:00:00Z")
	plan := Plan{Name: "pro", RequestsPerMinute: 1, Scans: 3, Period: Monthly}
	l := open(t, dir, c, plan)
	a := join(t, l, "ann", "pro")
	for range 3 {
		settle(t, l, reserve(t, l, a, false))
	}
	plan.Scans = 2
	l = open(t, dir, c, plan)
	u := usage(t, l, join(t, l, "ann", "pro"))
	assert.Equal(t, 3, u.Used)
	assert.Equal(t, 0, u.Remaining, "never negative")
}

func TestDailyLimit(t *testing.T) {
	t.Parallel()
	onAll(t, testDailyLimit)
}

func testDailyLimit(t *testing.T, fresh database) {
	t.Helper()
	for _, tt := range []struct {
		name, now string
		retry     time.Duration
	}{
		{"noon", "2026-01-15T12:00:00Z", 12 * time.Hour},
		{"midnight", "2026-01-15T00:00:00Z", 24 * time.Hour},
		{"last instant", "2026-01-15T23:59:59.999999999Z", 1},
		{"29 February", "2028-02-29T23:00:00Z", time.Hour},
		{"another zone", "2026-01-15T23:00:00-05:00", 20 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, c := setup(t, fresh)
			a := join(t, l, "ann", "free")
			c.set(tt.now)
			for range 10 {
				reserve(t, l, a, false)
			}
			for name, err := range map[string]error{
				"check":   l.Check(t.Context(), a),
				"reserve": l.Reserve(t.Context(), a, Submission{ID: NewDetectionID()}),
			} {
				limit, ok := errors.AsType[*LimitError](err)
				require.True(t, ok, "%s: %v", name, err)
				assert.Equal(t, LimitError{Limit: 10, RetryAfter: tt.retry}, *limit, name)
			}
			c.add(tt.retry)
			require.NoError(t, l.Check(t.Context(), a), "the next day begins when it was said to")
			reserve(t, l, a, false)
		})
	}
}

// What a plan without a limit by the day had withdrawn was taken off the count of an earlier plan of the same day:
// back on that, the account had more than its limit.
func TestTheDayOfAnotherPlan(t *testing.T) {
	t.Parallel()
	onBoth(t, testTheDayOfAnotherPlan)
}

func testTheDayOfAnotherPlan(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	a := join(t, l, "ann", "free")
	moved := func(to string) {
		_, err := l.ChangePlan(t.Context(), "ann", to)
		require.NoError(t, err)
		a.Plan = l.plans[to]
	}
	reserve(t, l, a, false)
	moved("pro")
	for range 3 {
		require.NoError(t, l.Withdraw(t.Context(), reserve(t, l, a, false)))
	}
	moved("free")
	for range a.Plan.Daily - 1 {
		reserve(t, l, a, false)
	}
	var limit *LimitError
	require.ErrorAs(t, l.Check(t.Context(), a), &limit)
}

// What a plan without a limit by the day had accepted, and one with a limit gave back, made a day that had
// counted less than nothing: the account had more than its limit by all of that.
func TestADayCountsNoLessThanNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, testADayCountsNoLessThanNothing)
}

func testADayCountsNoLessThanNothing(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	a := join(t, l, "ann", "free")
	withdrawn := []string{reserve(t, l, a, false)}
	_, err := l.ChangePlan(t.Context(), "ann", "pro")
	require.NoError(t, err)
	for range 3 {
		withdrawn = append(withdrawn, reserve(t, l, Account{ID: a.ID, Plan: l.plans["pro"]}, false))
	}
	_, err = l.ChangePlan(t.Context(), "ann", "free")
	require.NoError(t, err)
	for _, id := range withdrawn {
		require.NoError(t, l.Withdraw(t.Context(), id))
	}
	for range a.Plan.Daily {
		reserve(t, l, a, false)
	}
	var limit *LimitError
	require.ErrorAs(t, l.Check(t.Context(), a), &limit)
}

// What was settled, and withdrawn after a change of the plan, was taken from a period of the new plan: there
// the account had used one scan less than it had, and of the old one's period one more.
func TestThePeriodOfAnotherPlan(t *testing.T) {
	t.Parallel()
	onAll(t, testThePeriodOfAnotherPlan)
}

func testThePeriodOfAnotherPlan(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	free := join(t, l, "ann", "free")
	pro := free
	pro.Plan = l.plans["pro"]
	one := func(a Account, async bool) []string { return []string{reserve(t, l, a, async)} }
	both := func() []string {
		all := []Request{{pro, Submission{ID: NewDetectionID(), Async: true}}, {pro, Submission{ID: NewDetectionID(), Async: true}}}
		require.NoError(t, l.ReserveAll(t.Context(), all))
		return []string{all[0].Submission.ID, all[1].Submission.ID}
	}
	for _, change := range []struct {
		to  string
		ids []string
	}{{"pro", one(free, false)}, {"free", one(pro, false)}, {"free", one(pro, true)}, {"free", both()}} {
		kept := map[string]int{}
		for _, a := range []Account{free, pro} {
			settle(t, l, reserve(t, l, a, false))
			kept[a.Plan.Name] = usage(t, l, a).Used
		}
		for _, id := range change.ids {
			settle(t, l, id)
		}
		_, err := l.ChangePlan(t.Context(), "ann", change.to)
		require.NoError(t, err)
		for _, id := range change.ids {
			require.NoError(t, l.Withdraw(t.Context(), id))
		}
		for _, a := range []Account{free, pro} {
			assert.Equal(t, kept[a.Plan.Name], usage(t, l, a).Used, "%s, moved to %s", a.Plan.Name, change.to)
		}
	}
}

// Of a period that counts nothing, nothing is taken: an account could have used one scan less than none.
func TestAPeriodCountsNoLessThanNothing(t *testing.T) {
	t.Parallel()
	onAll(t, testAPeriodCountsNoLessThanNothing)
}

func testAPeriodCountsNoLessThanNothing(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	a := join(t, l, "ann", "pro")
	id := reserve(t, l, a, false)
	settle(t, l, id)
	require.NoError(t, l.store.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE scans SET count = 0 WHERE account_id = $1`, a.ID) // as an earlier version could leave it
		return err
	}))
	require.NoError(t, l.Withdraw(t.Context(), id))
	assert.Zero(t, usage(t, l, a).Used)
}

func TestTheClockStepsBackOverMidnight(t *testing.T) {
	t.Parallel()
	onAll(t, testTheClockStepsBackOverMidnight)
}

func testTheClockStepsBackOverMidnight(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh)
	a := join(t, l, "ann", "free")
	for range 4 {
		reserve(t, l, a, false)
	}
	c.add(24 * time.Hour)
	for range 10 {
		reserve(t, l, a, false)
	}
	c.add(-24 * time.Hour)
	for range 6 {
		reserve(t, l, a, false)
	}
	var limit *LimitError
	require.ErrorAs(t, l.Check(t.Context(), a), &limit)
	assert.LessOrEqual(t, limit.RetryAfter, 24*time.Hour)
}

func TestTheDayGoesBeforeTheQuota(t *testing.T) {
	t.Parallel()
	onAll(t, testTheDayGoesBeforeTheQuota)
}

func testTheDayGoesBeforeTheQuota(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh, Plan{Name: "free", RequestsPerMinute: 1, Daily: 2, Scans: 2, Period: Lifetime})
	a := join(t, l, "ann", "free")
	reserve(t, l, a, false)
	reserve(t, l, a, false)
	var limit *LimitError
	require.ErrorAs(t, l.Check(t.Context(), a), &limit)
	c.add(24 * time.Hour)
	require.ErrorIs(t, l.Check(t.Context(), a), ErrQuotaExceeded, "used + reserved counts")
	require.ErrorIs(t, l.Reserve(t.Context(), a, Submission{ID: NewDetectionID()}), ErrQuotaExceeded)
	var days int
	require.NoError(t, l.store.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM submissions`).Scan(&days))
	assert.Equal(t, 1, days, "what was refused is not counted for the day")
}
