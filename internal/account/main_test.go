package account

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"deepfaked/internal/store"
)

func TestMain(m *testing.M) {
	if data := os.Getenv(clientData); data != "" {
		fmt.Fprintln(os.Stderr, client(context.Background(), data, os.Getenv(clientKey)))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func at(text string) *clock {
	c := &clock{}
	c.set(text)
	return c
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(text string) {
	now, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// open opens the books in dir, as a process of its own would.
func open(t *testing.T, dir string, c *clock, plans ...Plan) *Ledger {
	t.Helper()
	s, err := store.Open(t.Context(), dir, store.DefaultOptions())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	opts := DefaultOptions()
	opts.Now = c.Now
	if len(plans) > 0 {
		opts.Plans = plans
	}
	l, err := New(s, opts)
	require.NoError(t, err)
	return l
}

// setup opens new books at noon.
func setup(t *testing.T, plans ...Plan) (*Ledger, *clock) {
	t.Helper()
	c := at("2026-01-15T12:00:00.123456Z")
	return open(t, t.TempDir(), c, plans...), c
}

// join makes an account with a key, and signs in with it.
func join(t *testing.T, l *Ledger, name, plan string) Account {
	t.Helper()
	key, err := l.CreateKey(t.Context(), name, plan)
	require.NoError(t, err)
	a, err := l.Authenticate(t.Context(), key.Token)
	require.NoError(t, err)
	return a
}

var outcome = Outcome{Kind: "image", Verdict: "fake", Confidence: 0.875, Report: []byte(`{"threshold":0.5}`)}

// reserve accepts a submission and returns its id.
func reserve(t *testing.T, l *Ledger, a Account, async bool) string {
	t.Helper()
	id := NewDetectionID()
	require.NoError(t, l.Reserve(t.Context(), a, Submission{ID: id, Async: async, Sensitivity: "strict"}))
	return id
}

func settle(t *testing.T, l *Ledger, id string) Detection {
	t.Helper()
	d, err := l.Settle(t.Context(), id, outcome)
	require.NoError(t, err)
	return d
}

func usage(t *testing.T, l *Ledger, a Account) Usage {
	t.Helper()
	u, err := l.Usage(t.Context(), a)
	require.NoError(t, err)
	return u
}

// places counts what is used and reserved, in all periods, in one statement.
func places(ctx context.Context, l *Ledger, a Account) (used, reserved int, err error) {
	err = l.store.Reader().QueryRowContext(ctx, `
		SELECT coalesce((SELECT sum(count) FROM scans WHERE account_id = $1), 0),
		       (SELECT count(*) FROM reservations WHERE account_id = $1)`, a.ID).Scan(&used, &reserved)
	return used, reserved, err
}
