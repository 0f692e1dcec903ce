package account

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/postgrestest"
)

// unheard opens books whose database may be unheard of, and the same ones over a
// connection that never breaks.
func unheard(t *testing.T) (near, far *Ledger, between *postgrestest.Unheard) {
	t.Helper()
	between = &postgrestest.Unheard{}
	database, c := postgrestest.Database(t), at("2026-01-15T12:00:00Z")
	near, far = open(t, database, c), open(t, postgrestest.Between(t, database, between.Relay), c)
	far.look = time.Minute // of which a slow machine takes half a second
	return near, far, between
}

// The connection broke between a COMMIT and its answer: the caller was told that nothing
// was reserved, and it was. A client got an error, and its job ran and counted.
func TestAReservationWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		n       int
		reserve func(*Ledger, context.Context, []Request) error
	}{
		"synchronous": {1, func(l *Ledger, ctx context.Context, all []Request) error {
			return l.Reserve(ctx, all[0].Account, Submission{ID: all[0].Submission.ID, Sensitivity: "strict"})
		}},
		"a job":        {1, func(l *Ledger, ctx context.Context, all []Request) error { return l.ReserveAll(ctx, all) }},
		"several jobs": {3, func(l *Ledger, ctx context.Context, all []Request) error { return l.ReserveAll(ctx, all, step("b")) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			near, far, between := unheard(t)
			a := join(t, near, "ann", "free")
			all := requests(a, c.n)
			between.Lose("det_", false)
			require.NoError(t, c.reserve(far, t.Context(), all))
			_, reserved, submitted := taken(t, near, a)
			assert.Equal(t, c.n, reserved)
			assert.Equal(t, c.n, submitted)
			for _, r := range all {
				settle(t, far, r.Submission.ID)
			}
		})
	}
}

// A commit that never came to the server, as one knows once it has given up its locks, is
// an error like any other, and leaves nothing.
func TestAReservationThatIsLost(t *testing.T) {
	t.Parallel()
	lost := &network{loses: true}
	l := open(t, postgrestest.Between(t, postgrestest.Database(t), lost.relay), at("2026-01-15T12:00:00Z"))
	a := join(t, l, "ann", "free")
	l.look = time.Minute
	for _, n := range []int{1, 3} {
		lost.cuts.Store(true)
		err := l.ReserveAll(t.Context(), requests(a, n))
		require.Error(t, err)
		assert.False(t, IsUnknown(err), "%v", err)
		used, reserved, submitted := taken(t, l, a)
		assert.Zero(t, used+reserved+submitted)
		assert.Zero(t, l.owed.count())
	}
}

// The database was away from then on, so that nobody could know. The clients of jobs are
// told of an error, and nothing of the jobs stays, whatever has come of them meanwhile.
func TestJobsThatNobodyKnowsOf(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(*testing.T, *Ledger, string){
		"nothing":  func(*testing.T, *Ledger, string) {},
		"a result": func(t *testing.T, l *Ledger, id string) { t.Helper(); settle(t, l, id) },
		"a failure": func(t *testing.T, l *Ledger, id string) {
			t.Helper()
			require.NoError(t, l.Fail(t.Context(), id, "It broke."))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			near, far, between := unheard(t)
			a := join(t, near, "ann", "free")
			settle(t, near, reserve(t, near, a, true))
			all := requests(a, 2)
			far.look = time.Second // is over without an answer
			between.Lose("det_", true)
			err := far.ReserveAll(t.Context(), all)
			assert.True(t, IsUnknown(err), "%v", err)
			for _, r := range all {
				meanwhile(t, near, r.Submission.ID)
			}
			_, err = far.Retry(t.Context())
			require.Error(t, err)
			between.Back()
			comesBack(t, far)
			used, reserved, submitted := taken(t, near, a)
			assert.Equal(t, []int{1, 0, 1}, []int{used, reserved, submitted}, "what it had before")
			for _, r := range all {
				_, err := near.Settle(t.Context(), r.Submission.ID, outcome)
				require.ErrorIs(t, err, ErrNotFound)
			}
		})
	}
}

// comesBack waits until nothing is owed.
func comesBack(t *testing.T, l *Ledger) {
	t.Helper()
	require.Eventually(t, func() bool { left, _ := l.Retry(t.Context()); return left == 0 }, time.Minute, 10*time.Millisecond)
}

// A result whose answer is lost is there when it is stored again, and counted once.
func TestAResultWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	near, far, between := unheard(t)
	a := join(t, near, "ann", "free")
	id := reserve(t, far, a, false)
	between.Lose("det_", false)
	_, err := far.Settle(t.Context(), id, outcome)
	assert.True(t, IsUnknown(err), "%v", err)
	assert.Equal(t, Complete, settle(t, far, id).State)
	used, reserved, submitted := taken(t, near, a)
	assert.Equal(t, []int{1, 0, 1}, []int{used, reserved, submitted})
}

// With the database away as well the client got an error, and was charged for a result
// that it could never see.
func TestAResultThatNobodyIsToldOf(t *testing.T) {
	t.Parallel()
	near, far, between := unheard(t)
	a := join(t, near, "ann", "free")
	settle(t, near, reserve(t, near, a, false))
	id := reserve(t, far, a, false)
	between.Lose("det_", true)
	for range 2 { // as the service does
		_, err := far.Settle(t.Context(), id, outcome)
		require.Error(t, err)
	}
	require.Error(t, far.Withdraw(t.Context(), id))
	assert.Equal(t, 2, usage(t, near, a).Used)
	between.Back()
	comesBack(t, far)
	used, reserved, submitted := taken(t, near, a)
	assert.Equal(t, []int{1, 0, 1}, []int{used, reserved, submitted})
}

// A result that its client never had was taken off the latest period that had begun, which
// need not be the one of the account's present plan.
func TestAScanIsTakenOffItsPlansPeriod(t *testing.T) {
	t.Parallel()
	l := open(t, postgrestest.Database(t), at("2026-01-15T12:00:00Z"))
	a := join(t, l, "ann", "free") // whose one period begins today
	settle(t, l, reserve(t, l, a, false))
	_, err := l.ChangePlan(t.Context(), "ann", "pro") // whose period began on the first
	require.NoError(t, err)
	moved := a
	moved.Plan = l.plans["pro"]
	id := reserve(t, l, moved, false)
	settle(t, l, id)
	require.NoError(t, l.Withdraw(t.Context(), id))
	assert.Zero(t, usage(t, l, moved).Used)
	assert.Equal(t, 1, usage(t, l, a).Used)
}

// A standby may not have heard yet what was committed: it is not asked what came of it.
func TestAStandbyDoesNotKnow(t *testing.T) {
	t.Parallel()
	l := open(t, postgrestest.Database(t), at("2026-01-15T12:00:00Z"))
	all := requests(join(t, l, "ann", "free"), 1)
	there, err := l.areReserved(t.Context(), all)
	require.NoError(t, err)
	require.False(t, there)

	pool := l.store.Postgres()
	var name string
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT current_database()`).Scan(&name))
	readOnly := func(is string) {
		require.NoError(t, pool.AcquireFunc(t.Context(), func(conn *pgxpool.Conn) error {
			if _, err := conn.Exec(t.Context(), `SET default_transaction_read_only = off`); err != nil {
				return err
			}
			_, err := conn.Exec(t.Context(), `ALTER DATABASE `+pgx.Identifier{name}.Sanitize()+` SET default_transaction_read_only = `+is)
			return err
		}))
		pool.Reset()
	}
	readOnly("on")
	_, err = l.areReserved(t.Context(), all)
	readOnly("off")
	require.ErrorContains(t, err, "read-only")
}
