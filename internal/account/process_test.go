package account

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/store"
)

// The test binary is a client of the books when these are set: the data folder
// and the key.
const (
	clientData = "DEEPFAKED_TEST_CLIENT_DATA"
	clientKey  = "DEEPFAKED_TEST_CLIENT_KEY"
)

// clientsEach is how many clients a process is.
const clientsEach = 16

// client is a process of many clients that reserve and settle until the allowance
// is used up, and write a line for each scan that was acknowledged. Every third
// submission is left behind.
func client(ctx context.Context, data, key string) error {
	how := store.DefaultOptions()
	how.Lost = lost
	s, err := openStore(ctx, data, how)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	opts := DefaultOptions()
	if s.Postgres() != nil { // on a folder there is one process
		if opts.Process, err = s.Join(ctx, slog.New(slog.DiscardHandler)); err != nil {
			return err
		}
	}
	l, err := New(s, opts)
	if err != nil {
		return err
	}
	ended := make(chan error, clientsEach)
	for range clientsEach {
		go func() { ended <- hammer(ctx, l, key) }()
	}
	return <-ended
}

func hammer(ctx context.Context, l *Ledger, key string) error {
	for i := 0; ; i++ {
		a, err := l.Authenticate(ctx, key)
		if err != nil {
			return err
		}
		id := NewDetectionID()
		if err := l.Reserve(ctx, a, Submission{ID: id, Sensitivity: "strict"}); err != nil {
			return err
		}
		if i%3 == 2 {
			continue
		}
		if _, err := l.Settle(ctx, id, outcome); err != nil {
			return err
		}
		fmt.Println(id) //nolint:forbidigo // read by the test
	}
}

// 64 clients of one account, in processes that are killed at any moment, leave
// books that are right: never is more taken than there is, what they have
// acknowledged is counted, at most one scan of each client was counted and not
// yet acknowledged, and what they held is free again after Recover.
func TestProcessesAreKilled(t *testing.T) {
	t.Parallel()
	onBoth(t, testProcessesAreKilled)
}

func testProcessesAreKilled(t *testing.T, fresh database) {
	t.Helper()
	const processes, each = 4, 100
	dir, c := fresh(t), at("2026-01-15T12:00:00Z")
	l := open(t, dir, c)
	key, err := l.CreateKey(t.Context(), "ann", "starter")
	require.NoError(t, err)
	a, err := l.Authenticate(t.Context(), key.Token)
	require.NoError(t, err)

	stop, watched := watch(t, l, a, a.Plan.Scans)
	acknowledged := make(chan string, 3000)
	var group sync.WaitGroup
	for range processes {
		group.Go(func() { kill(t, dir, key.Token, each, acknowledged) })
	}
	group.Wait()
	stop()
	assert.Positive(t, <-watched, "somebody watched")
	close(acknowledged)

	n := 0
	for id := range acknowledged {
		d, err := l.Detection(t.Context(), a, id)
		require.NoError(t, err)
		assert.Equal(t, Complete, d.State)
		n++
	}
	// The clients go by the system's clock, so this counts all periods.
	used, reserved, err := places(t.Context(), l, a)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, n, processes*each)
	assert.GreaterOrEqual(t, used, n)
	assert.LessOrEqual(t, used, n+processes*clientsEach)
	var complete int
	require.NoError(t, l.store.Reader().QueryRowContext(t.Context(),
		`SELECT count(*) FROM detections WHERE state = 'complete'`).Scan(&complete))
	assert.Equal(t, complete, used, "successful detections")
	assert.GreaterOrEqual(t, reserved, processes*each/3)

	recovered(t, l, reserved)
	after, reserved, err := places(t.Context(), l, a)
	require.NoError(t, err)
	assert.Equal(t, used, after)
	assert.Zero(t, reserved)
	if l.store.Postgres() == nil {
		var state string
		require.NoError(t, l.store.Reader().QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&state))
		assert.Equal(t, "ok", state)
	}
}

// kill runs a client and kills it once it has acknowledged n scans.
func kill(t *testing.T, dir, key string, n int, acknowledged chan<- string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), clientData+"="+dir, clientKey+"="+key)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if !assert.NoError(t, err) || !assert.NoError(t, cmd.Start()) {
		return
	}
	lines := bufio.NewScanner(out)
	for i := 1; lines.Scan(); i++ {
		acknowledged <- lines.Text()
		if i == n {
			assert.NoError(t, cmd.Process.Kill())
		}
	}
	assert.ErrorContains(t, cmd.Wait(), "killed")
}
