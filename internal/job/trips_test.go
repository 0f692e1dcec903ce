package job

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/account"
	"deepfaked/internal/postgrestest"
)

// Accepting is begun, checked, done and committed in two ways to PostgreSQL and
// back, settling in three, for one job as for several; and what a synchronous
// request takes and settles in two. Jobs that have others of their account beside them
// take one more, to fall in behind them. The queue's notice, which it gives at most once in
// its cooldown, once made that one more again: on a slow machine that was each time.
func TestWaysThereAndBack(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	trips := &atomic.Int64{}
	w.database = counting(t, w.database, trips)
	f := enter(t, w)
	runner, err := f.runner(t.Context(), good, options(0))
	require.NoError(t, err)
	for _, c := range []struct {
		n      int
		same   bool // account
		accept int64
	}{{1, false, 2}, {5, false, 2}, {5, true, 3}} {
		least := map[string]int64{"accept": 99, "settle": 99, "take": 99, "count": 99}
		measured := func(what string, do func() error) {
			before := trips.Load()
			require.NoError(t, do())
			least[what] = min(least[what], trips.Load()-before)
		}
		for range 10 {
			all, ended := make([]accepted, c.n), make([]settled, c.n)
			for i := range all {
				id := account.NewDetectionID()
				all[i] = accepted{account.Request{Account: f.account, Submission: account.Submission{ID: id, Async: true, Sensitivity: "strict"}}, detection{ID: id, Account: id}}
				if c.same {
					all[i].job.Account = f.account.ID
				}
				ended[i] = settled{int64(i), account.Ended{ID: id, Outcome: account.Outcome{Kind: "image", Verdict: "real"}}}
			}
			<-time.After(2 * cooldown) // so that there is a notice
			measured("accept", func() error { return runner.reserve(t.Context(), all) })
			measured("settle", func() error { return runner.settleAll(t.Context(), ended) })
			now := account.Submission{ID: account.NewDetectionID(), Sensitivity: "strict"}
			measured("take", func() error { return f.ledger.Reserve(t.Context(), f.account, now) })
			measured("count", func() error {
				_, err := f.ledger.Settle(t.Context(), now.ID, account.Outcome{Kind: "image", Verdict: "real"})
				return err
			})
		}
		assert.Equal(t, map[string]int64{"accept": c.accept, "settle": 3, "take": 2, "count": 2}, least, "%+v", c)
	}
}

// The notice that goes with the commit is heard: without it other processes find a job when they
// look next, up to a second later.
func TestOthersAreToldOfJobs(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	f := enter(t, w)
	runner, err := f.runner(t.Context(), good, options(0))
	require.NoError(t, err)
	other, err := pgx.Connect(t.Context(), w.database)
	require.NoError(t, err)
	defer func() { _ = other.Close(context.Background()) }()
	_, err = other.Exec(t.Context(), `LISTEN "public.river_insert"`)
	require.NoError(t, err)
	id := account.NewDetectionID()
	one := accepted{account.Request{Account: f.account, Submission: account.Submission{ID: id, Async: true, Sensitivity: "strict"}}, detection{ID: id, Account: f.account.ID}}
	require.NoError(t, runner.reserve(t.Context(), []accepted{one}))
	soon, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	notice, err := other.WaitForNotification(soon)
	require.NoError(t, err)
	assert.Contains(t, notice.Payload, river.QueueDefault)
}

// counting counts how often the database of an address has told a client that it is ready.
func counting(t *testing.T, address string, ready *atomic.Int64) string {
	t.Helper()
	return postgrestest.Between(t, address, func(client, server net.Conn) {
		go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
		relay(client, server, ready)
	})
}

// relay passes a server's messages on: a letter, and the length of the rest.
func relay(client io.Writer, server io.Reader, ready *atomic.Int64) {
	from := bufio.NewReader(server)
	for {
		head, err := from.Peek(5)
		if err != nil {
			return
		}
		if head[0] == 'Z' {
			ready.Add(1)
		}
		if _, err := io.CopyN(client, from, int64(binary.BigEndian.Uint32(head[1:]))+1); err != nil {
			return
		}
	}
}
