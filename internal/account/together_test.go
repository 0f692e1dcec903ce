package account

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/postgrestest"
	"deepfaked/internal/store"
)

// requests are n new ones of an account.
func requests(a Account, n int) (all []Request) {
	for range n {
		all = append(all, Request{a, Submission{ID: NewDetectionID(), Async: true, Sensitivity: "strict"}})
	}
	return all
}

func endsOf(all []Request) (ends []Ended) {
	for _, r := range all {
		ends = append(ends, Ended{r.Submission.ID, outcome})
	}
	return ends
}

// taken is what an account has used and reserved, and has submitted in a day.
func taken(t *testing.T, l *Ledger, a Account) (used, reserved, submitted int) {
	t.Helper()
	used, reserved, err := places(t.Context(), l, a)
	require.NoError(t, err)
	require.NoError(t, l.store.Reader().QueryRowContext(t.Context(),
		`SELECT coalesce(sum(count), 0) FROM submissions WHERE account_id = $1`, a.ID).Scan(&submitted))
	return used, reserved, submitted
}

// step notes an account of a new name, so that one can see whether it became true.
func step(name string) Step {
	return func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO accounts (id, name, plan, created_at) VALUES ($1, $1, 'pro', 0)`, name)
		return err
	}
}

func stepped(t *testing.T, l *Ledger, name string) (done bool) {
	t.Helper()
	require.NoError(t, l.store.Reader().QueryRowContext(t.Context(), `SELECT count(*) > 0 FROM accounts WHERE id = $1`, name).Scan(&done))
	return done
}

// Several of several accounts and plans come to what they would one by one.
func TestTogether(t *testing.T) {
	t.Parallel()
	onAll(t, testTogether)
}

func testTogether(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh)
	pro, free := join(t, l, "ann", "pro"), join(t, l, "ben", "free")
	free.Plan.Daily, free.Plan.Scans = 4, 3
	all := append(requests(pro, 3), requests(free, 2)...)
	require.NoError(t, l.ReserveAll(t.Context(), all, step("accepted")))
	assert.True(t, stepped(t, l, "accepted"))
	used, reserved, submitted := taken(t, l, free)
	assert.Equal(t, []int{0, 2, 2}, []int{used, reserved, submitted})
	used, reserved, submitted = taken(t, l, pro)
	assert.Equal(t, []int{0, 3, 0}, []int{used, reserved, submitted})
	d, err := l.Detection(t.Context(), free, all[4].Submission.ID)
	require.NoError(t, err)
	assert.Equal(t, Detection{ID: all[4].Submission.ID, Async: true, State: Processing, Sensitivity: "strict", Created: c.Now()}, d)

	err = l.ReserveAll(t.Context(), append(requests(pro, 1), requests(free, 2)...), step("refused"))
	require.Error(t, err, "one place for two")
	assert.False(t, stepped(t, l, "refused"))
	_, reserved, submitted = taken(t, l, free)
	assert.Equal(t, []int{2, 2}, []int{reserved, submitted}, "none is accepted")
	require.NoError(t, l.ReserveAll(t.Context(), append(requests(pro, 1), requests(free, 1)...)))
	require.ErrorIs(t, l.ReserveAll(t.Context(), requests(free, 1)), ErrQuotaExceeded, "alone, it says why")
	free.Plan.Scans = 100
	require.Error(t, l.ReserveAll(t.Context(), requests(free, 2)), "one of the day for two")

	ends := endsOf(all)
	ends[4].Outcome.Report = nil
	settle(t, l, ends[0].ID) // by an earlier attempt
	require.NoError(t, l.SettleAll(t.Context(), ends, step("settled")))
	require.NoError(t, l.SettleAll(t.Context(), ends), "again")
	assert.True(t, stepped(t, l, "settled"))
	used, reserved, _ = taken(t, l, pro)
	assert.Equal(t, []int{3, 1}, []int{used, reserved}, "each is counted once")
	used, reserved, _ = taken(t, l, free)
	assert.Equal(t, []int{2, 1}, []int{used, reserved})
	d, err = l.Detection(t.Context(), free, all[4].Submission.ID)
	require.NoError(t, err)
	assert.Equal(t, Detection{
		ID: d.ID, Async: true, State: Complete, Sensitivity: "strict", Outcome: ends[4].Outcome, Created: c.Now(), Completed: c.Now(),
	}, d)
}

// One that can't be settled keeps all from it, and what was to go with them.
func TestNotTogether(t *testing.T) {
	t.Parallel()
	onAll(t, testNotTogether)
}

func testNotTogether(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	a := join(t, l, "ann", "pro")
	fails := reserve(t, l, a, true)
	require.NoError(t, l.Fail(t.Context(), fails, "It broke."))
	for _, c := range []struct {
		name string
		bad  Ended
		want error
	}{
		{"has failed", Ended{fails, outcome}, ErrFailed},
		{"is unknown", Ended{NewDetectionID(), outcome}, ErrNotFound},
	} {
		good := endsOf(requests(a, 0))
		for range 3 {
			good = append(good, Ended{reserve(t, l, a, true), outcome})
		}
		before, held, _ := taken(t, l, a)
		require.ErrorIs(t, l.SettleAll(t.Context(), append(good, c.bad), step(c.name)), c.want, c.name)
		assert.False(t, stepped(t, l, c.name))
		used, reserved, _ := taken(t, l, a)
		assert.Equal(t, []int{before, held}, []int{used, reserved}, c.name)
		require.NoError(t, l.SettleAll(t.Context(), good), "without it")
	}
}

// Groups fight for the last places through two processes, and fall back to one by
// one; what they got is settled by both. At no moment may more be taken than there
// is, and each is counted once.
func TestTheQuotaHoldsTogether(t *testing.T) {
	t.Parallel()
	onBoth(t, testTheQuotaHoldsTogether)
}

func testTheQuotaHoldsTogether(t *testing.T, fresh database) {
	t.Helper()
	const limit = 100
	of, c := fresh(t), at("2026-01-15T12:00:00Z")
	plan := Plan{Name: "pro", RequestsPerMinute: 1, Scans: limit, Period: Monthly, Async: true}
	processes := []*Ledger{open(t, of, c, plan), open(t, of, c, plan)}
	accounts := []Account{join(t, processes[0], "ann", "pro"), join(t, processes[0], "ben", "pro")}
	var stops []func()
	for _, a := range accounts {
		stop, watched := watch(t, processes[1], a, limit)
		stops = append(stops, func() { stop(); assert.Positive(t, <-watched) })
	}
	var accepted, refused atomic.Int64
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			for range 12 {
				var all []Request
				for _, j := range rand.Perm(2) {
					all = append(all, requests(accounts[j], 1+rand.IntN(3))...)
				}
				got := eachOrAll(t, processes[i%2], all)
				accepted.Add(int64(len(got)))
				refused.Add(int64(len(all) - len(got)))
				var twice sync.WaitGroup
				for _, l := range processes {
					twice.Go(func() { settleEachOrAll(t, l, shuffled(endsOf(got))) })
				}
				twice.Wait()
			}
		})
	}
	group.Wait()
	for _, stop := range stops {
		stop()
	}
	total := 0
	for _, a := range accounts {
		used, reserved, _ := taken(t, processes[0], a)
		assert.Equal(t, []int{limit, 0}, []int{used, reserved})
		total += used
	}
	assert.EqualValues(t, accepted.Load(), total)
	assert.Positive(t, refused.Load())
}

func shuffled(all []Ended) []Ended {
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// eachOrAll reserves all together, or else one by one, and returns what it got.
func eachOrAll(t *testing.T, l *Ledger, all []Request) (got []Request) {
	t.Helper()
	if l.ReserveAll(t.Context(), all) == nil {
		return all
	}
	for _, r := range all {
		err := l.ReserveAll(t.Context(), []Request{r})
		if err == nil {
			got = append(got, r)
		} else if !errors.Is(err, ErrQuotaExceeded) {
			assert.NoError(t, err)
		}
	}
	return got
}

// settleEachOrAll settles all together, or else one by one, as jobs do.
func settleEachOrAll(t *testing.T, l *Ledger, all []Ended) {
	t.Helper()
	if l.SettleAll(t.Context(), all) == nil {
		return
	}
	for _, e := range all {
		assert.NoError(t, l.SettleAll(t.Context(), []Ended{e}))
	}
}

// Two processes settled the same jobs at once, as after one of them was taken for
// dead, each in an order of its own: now and then each had locked what the other
// waited for, and both gave up. They lock in one order now.
func TestTheSameTogether(t *testing.T) {
	t.Parallel()
	of, c := postgrestest.Database(t), at("2026-01-15T12:00:00Z")
	plan := Plan{Name: "pro", RequestsPerMinute: 1, Scans: 10_000, Period: Monthly, Async: true}
	processes := []*Ledger{open(t, of, c, plan), open(t, of, c, plan)}
	a := join(t, processes[0], "ann", "pro")
	for range 20 {
		all := requests(a, 50)
		require.NoError(t, processes[0].ReserveAll(t.Context(), all))
		ends := endsOf(all)
		var group sync.WaitGroup
		for i, l := range processes {
			group.Go(func() {
				mine := slices.Clone(ends)
				if i > 0 {
					slices.Reverse(mine)
				}
				assert.NoError(t, l.SettleAll(t.Context(), mine))
			})
		}
		group.Wait()
	}
	used, reserved, _ := taken(t, processes[0], a)
	assert.Equal(t, []int{20 * 50, 0}, []int{used, reserved})
}

// A process that hangs in a transaction of one account does not keep the jobs of
// others waiting that came at the same moment.
func TestSeveralDoNotWaitForOne(t *testing.T) {
	t.Parallel()
	of, c := postgrestest.Database(t), at("2026-01-15T12:00:00Z")
	l, hangs := open(t, of, c), open(t, of, c)
	ann, ben := join(t, l, "ann", "pro"), join(t, l, "ben", "pro")
	first := requests(ann, 1)
	require.NoError(t, l.ReserveAll(t.Context(), first))
	held, release := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		assert.NoError(t, hangs.ReserveAll(t.Context(), requests(ann, 1), func(ctx context.Context, tx *store.Tx) error {
			if err := hangs.settleAll(ctx, tx, endsOf(first)); err != nil {
				return err
			}
			if err := hangs.reserve(ctx, tx, ann, requests(ann, 1)[0].Submission, c.Now()); err != nil {
				return err
			}
			close(held)
			<-release
			return nil
		}))
	})
	<-held
	both := append(requests(ann, 1), requests(ben, 1)...)
	require.Error(t, l.ReserveAll(t.Context(), both))
	require.NoError(t, l.ReserveAll(t.Context(), both[1:]))
	require.Error(t, l.SettleAll(t.Context(), append(endsOf(first), endsOf(both[1:])...)))
	require.NoError(t, l.SettleAll(t.Context(), endsOf(both[1:])))
	close(release)
	group.Wait()
	require.NoError(t, l.ReserveAll(t.Context(), both[:1]))
}
