package account

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"deepfaked/internal/postgrestest"
	"deepfaked/internal/store"
)

func TestMain(m *testing.M) {
	if data := os.Getenv(clientData); data != "" {
		fmt.Fprintln(os.Stderr, client(context.Background(), data, os.Getenv(clientKey)))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		postgrestest.Stop()
		os.Exit(code)
	}))
}

// database makes a new database: a folder for one of SQLite, or the address of one
// of PostgreSQL.
type database func(testing.TB) string

func sqlite(t testing.TB) string {
	t.Helper()
	return t.TempDir()
}

// alone is the folder of a database that one process keeps, as it is served.
const alone = "alone"

// onAll is onBoth, and on a folder for one process.
func onAll(t *testing.T, test func(*testing.T, database)) {
	t.Helper()
	onBoth(t, test)
	t.Run("SQLite alone", func(t *testing.T) {
		t.Parallel()
		test(t, func(tb testing.TB) string {
			tb.Helper()
			return filepath.Join(tb.TempDir(), alone)
		})
	})
}

// onBoth runs a test on databases of each kind.
func onBoth(t *testing.T, test func(*testing.T, database)) {
	t.Helper()
	for name, fresh := range map[string]database{"SQLite": sqlite, "PostgreSQL": postgrestest.Database} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh)
		})
	}
}

// openStore opens a database that exists.
func openStore(ctx context.Context, of string, opts store.Options) (*store.Store, error) {
	if strings.HasPrefix(of, "postgres://") {
		opts.Database = of
	}
	return store.Open(ctx, of, opts)
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

// lost is how long a process is silent in tests before it has gone.
const lost = 5 * time.Second

// open opens the books, as a process of its own would. On SQLite, the process
// before it has gone then.
func open(t *testing.T, of string, c *clock, plans ...Plan) *Ledger {
	t.Helper()
	how := store.DefaultOptions()
	how.Lost = lost
	s, err := openStore(t.Context(), of, how)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	opts := DefaultOptions()
	opts.Now, opts.Alone = c.Now, filepath.Base(of) == alone
	opts.Process, err = s.Join(t.Context(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, opts.Process.Leave()) })
	if len(plans) > 0 {
		opts.Plans = plans
	}
	l, err := New(s, opts)
	require.NoError(t, err)
	return l
}

// setup opens new books at noon.
func setup(t *testing.T, fresh database, plans ...Plan) (*Ledger, *clock) {
	t.Helper()
	c := at("2026-01-15T12:00:00.123456Z")
	return open(t, fresh(t), c, plans...), c
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
