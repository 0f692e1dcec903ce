package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/postgrestest"
	"deepfaked/internal/spool"
	"deepfaked/internal/store"
	"deepfaked/preprocess"
)

func TestMain(m *testing.M) {
	if data := os.Getenv(victimData); data != "" {
		fmt.Fprintln(os.Stderr, victim(where{data, os.Getenv(victimDatabase)}, os.Getenv(victimDoes)))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		postgrestest.Stop()
		os.Exit(code)
	}))
}

// where is a folder for uploads, and the address of the books or nothing for
// SQLite in that folder.
type where struct{ data, database string }

// onBoth runs a test with new books of each kind.
func onBoth(t *testing.T, test func(*testing.T, func(testing.TB) where)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, onSQLite)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, onPostgres)
	})
}

func onSQLite(t testing.TB) where {
	t.Helper()
	return where{t.TempDir(), ""}
}

func onPostgres(t testing.TB) where {
	t.Helper()
	return where{t.TempDir(), postgrestest.Database(t)}
}

// patience is how long anything may take before a test gives up.
const patience = 2 * time.Minute

// lost is how long a process is silent in tests before it has gone.
const lost = 5 * time.Second

type detector func(context.Context, inference.Request) (inference.Result, error)

func (d detector) Detect(ctx context.Context, r inference.Request) (inference.Result, error) {
	return d(ctx, r)
}

func good(context.Context, inference.Request) (inference.Result, error) {
	return inference.Result{Verdict: inference.Real, Confidence: .75, Kind: preprocess.Audio}, nil
}

func failing(err error) detector {
	return func(context.Context, inference.Request) (inference.Result, error) { return inference.Result{}, err }
}

// untilStopped has its turn at once, and never comes to an end by itself.
func untilStopped(ctx context.Context, r inference.Request) (inference.Result, error) {
	if _, err := r.File.Rewind(); err != nil {
		return inference.Result{}, err
	}
	<-ctx.Done()
	return inference.Result{}, ctx.Err()
}

// place is a data folder with the books and the spool of one process.
type place struct {
	where
	books   *store.Store
	process *store.Process
	ledger  *account.Ledger
	spool   *spool.Spool

	uploads Uploads // the spool, unless a test says otherwise
}

func (p *place) close() error { return errors.Join(p.process.Leave(), p.books.Close()) }

// openPlace opens a data folder as a process of its own would.
func openPlace(ctx context.Context, w where) (*place, error) {
	p := &place{where: w}
	how := store.DefaultOptions()
	how.Database, how.Lost = w.database, lost
	var err error
	if p.books, err = store.Open(ctx, w.data, how); err != nil {
		return nil, err
	}
	if p.process, err = p.books.Join(ctx, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	opts := account.DefaultOptions()
	opts.Process, opts.Alone = p.process, w.database == ""
	if p.ledger, err = account.New(p.books, opts); err != nil {
		return nil, err
	}
	p.spool, err = spool.New(spool.Options{Dir: filepath.Join(w.data, "spool"), Park: filepath.Join(w.data, "jobs"), Memory: 1 << 20})
	p.uploads = p.spool
	return p, err
}

// runner makes a runner that has not been started.
func (p *place) runner(ctx context.Context, d detector, opts Options) (*Runner, error) {
	return New(ctx, p.deps(d, p.ledger), opts)
}

func (p *place) deps(d detector, books Books) Deps {
	return Deps{
		Detector: d, Books: books, Store: p.books, Process: p.process, Uploads: p.uploads, Logger: slog.New(slog.DiscardHandler),
		Sentence: func(err error) string { return "said " + err.Error() },
	}
}

func (p *place) account(ctx context.Context) (account.Account, error) {
	key, err := p.ledger.CreateKey(ctx, "ann", "pro")
	if err != nil {
		return account.Account{}, err
	}
	return p.ledger.Authenticate(ctx, key.Token)
}

// task is a submission with a file that holds its own id.
func (p *place) task(a account.Account) (account.Submission, Task, error) {
	id := account.NewDetectionID()
	file, err := p.spool.Create()
	if err == nil {
		_, err = file.Write([]byte(id))
	}
	return account.Submission{ID: id, Async: true, Sensitivity: "strict"},
		Task{ID: id, RequestID: "req_1", Account: a.ID, File: file, Sensitivity: inference.Strict}, err
}

// another is a second account.
func (f *fixture) another() account.Account {
	f.t.Helper()
	key, err := f.ledger.CreateKey(f.t.Context(), "bob", "pro")
	require.NoError(f.t, err)
	a, err := f.ledger.Authenticate(f.t.Context(), key.Token)
	require.NoError(f.t, err)
	return a
}

// submit has a runner accept a submission, and returns its id.
func (p *place) submit(ctx context.Context, r *Runner, a account.Account) (string, error) {
	s, task, err := p.task(a)
	if err != nil {
		return "", err
	}
	err = r.Submit(ctx, a, s, task)
	return task.ID, errors.Join(err, task.File.Close())
}

// fixture is a place with an account and a runner at work.
type fixture struct {
	*place
	t       *testing.T
	account account.Account
	jobs    *Runner
}

func options(workers int) Options {
	return Options{
		Workers: workers, Queue: 1000, Attempts: 3, Retry: time.Millisecond, Deadline: time.Minute, RetryAfter: 7 * time.Second,
	}
}

func setup(t *testing.T, w where, d detector, opts Options) *fixture {
	t.Helper()
	f := enter(t, w)
	f.start(d, opts)
	return f
}

// enter opens a place as a process does, and starts nothing.
func enter(t *testing.T, w where) *fixture {
	t.Helper()
	p, err := openPlace(t.Context(), w)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.close()) })
	f := &fixture{place: p, t: t}
	f.account, err = p.account(t.Context())
	require.NoError(t, err)
	return f
}

// inherit takes up what others left until the test ends, as a service does.
func (f *fixture) inherit() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	f.t.Cleanup(func() { cancel(); <-done })
	jobs := f.jobs
	go func() {
		defer close(done)
		for ; ctx.Err() == nil; <-time.After(50 * time.Millisecond) {
			if err := jobs.Recover(ctx); ctx.Err() == nil {
				assert.NoError(f.t, err)
			}
		}
	}()
}

// start has another runner take the place of the one before.
func (f *fixture) start(d detector, opts Options) {
	f.t.Helper()
	var err error
	f.jobs, err = f.runner(f.t.Context(), d, opts)
	require.NoError(f.t, err)
	jobs := f.jobs
	f.t.Cleanup(func() { assert.NoError(f.t, jobs.Close(context.Background())) })
	require.NoError(f.t, f.jobs.Start(f.t.Context()))
}

func (f *fixture) submit(n int) (ids []string) {
	f.t.Helper()
	for range n {
		id, err := f.place.submit(f.t.Context(), f.jobs, f.account)
		require.NoError(f.t, err)
		ids = append(ids, id)
	}
	return ids
}

// ended waits until a detection is no longer processing.
func (f *fixture) ended(id string) account.Detection {
	f.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		d, err := f.ledger.Detection(f.t.Context(), f.account, id)
		require.NoError(f.t, err)
		if d.State != account.Processing {
			return d
		}
		require.True(f.t, time.Now().Before(deadline), "%s is still processing", id)
	}
}

// usage is what the account has used, once nothing is reserved any more.
func (f *fixture) used(n int) {
	f.t.Helper()
	u, err := f.ledger.Usage(f.t.Context(), f.account)
	require.NoError(f.t, err)
	assert.Equal(f.t, n, u.Used, "scans used")
	reserved := -1
	require.NoError(f.t, f.books.Reader().QueryRowContext(f.t.Context(), `SELECT count(*) FROM reservations`).Scan(&reserved))
	assert.Zero(f.t, reserved, "places held")
}

// empty waits until no upload is left: the last goes after its result is there.
func (f *fixture) empty() {
	f.t.Helper()
	assert.EventuallyWithT(f.t, func(c *assert.CollectT) {
		parked, err := f.uploads.Parked(f.t.Context())
		assert.NoError(c, err)
		assert.Empty(c, parked)
		files, size := f.spool.Usage()
		assert.Zero(c, files)
		assert.Zero(c, size)
	}, patience, 5*time.Millisecond)
}

// swept removes what processes left that were killed while they accepted, and
// waits until no upload is left.
func (f *fixture) swept() {
	f.t.Helper()
	_, err := f.jobs.sweep(f.t.Context(), 0)
	require.NoError(f.t, err)
	f.empty()
}
