package job

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"golang.org/x/sys/unix"

	"deepfaked/internal/account"
	"deepfaked/internal/postgrestest"
	"deepfaked/internal/store"
)

// These benchmarks set what a job costs here beside what it costs with nothing but
// River in the same database, in the same run: "x" is the one over the other. The
// databases are on the disk of the temporary folder.

// bare is a job of the same size, for nobody.
type bare struct{ detection }

// Kind implements river.JobArgs.
func (bare) Kind() string { return "bare" }

// bareWorker has nothing to do, and with a transaction says so in one, as a job
// must that is to be counted once.
type bareWorker struct {
	river.WorkerDefaults[bare]

	complete func(ctx context.Context, j *river.Job[bare]) error
	done     func()
}

// Work implements river.Worker.
func (w *bareWorker) Work(ctx context.Context, j *river.Job[bare]) error {
	defer w.done()
	return w.complete(ctx, j)
}

// bareQueue is what is measured of River alone.
type bareQueue interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}

// rig is a place with both kinds of queue.
type rig struct {
	*place
	clients [10]account.Account
	insert  func(ctx context.Context, a account.Account) error  // one bare job
	bare    func(workers int, inTx bool, done func()) bareQueue // runs bare jobs
}

func onDisks(b *testing.B, measure func(*testing.B, func() *rig)) {
	b.Helper()
	var server *postgrestest.Server
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		b.Run(name, func(b *testing.B) {
			measure(b, func() *rig {
				w := where{data: b.TempDir()}
				if name == "PostgreSQL" {
					if server == nil {
						server = postgrestest.StartIn(b, os.TempDir())
					}
					w.database = server.Database(b)
				}
				return newRig(b, w)
			})
		})
	}
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func newRig(b *testing.B, w where) *rig {
	b.Helper()
	p, err := openPlace(b.Context(), w)
	check(b, err)
	b.Cleanup(func() { check(b, p.close()) })
	check(b, Migrate(b.Context(), p.books))
	r := &rig{place: p}
	for i := range r.clients {
		key, err := p.ledger.CreateKey(b.Context(), fmt.Sprint("client", i), "pro")
		check(b, err)
		r.clients[i], err = p.ledger.Authenticate(b.Context(), key.Token)
		check(b, err)
		r.clients[i].Plan.Scans = 1 << 40
	}
	if pool := p.books.Postgres(); pool != nil {
		rigUp(b, r, riverpgxv5.New(pool), func(ctx context.Context, do func(pgx.Tx) error) error {
			return pgx.BeginFunc(ctx, pool, do)
		})
		return r
	}
	rigUp(b, r, riversqlite.New(p.books.SQLite()), func(ctx context.Context, do func(*sql.Tx) error) error {
		tx, err := p.books.SQLite().BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if err := do(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
	return r
}

func rigUp[D riverdriver.Driver[T], T any](b *testing.B, r *rig, d D, within func(context.Context, func(T) error) error) {
	b.Helper()
	inserter, err := river.NewClient[T](d, &river.Config{})
	check(b, err)
	r.insert = func(ctx context.Context, _ account.Account) error {
		_, err := inserter.Insert(ctx, bare{detection{ID: account.NewDetectionID(), Account: r.clients[0].ID, SHA256: strings.Repeat("0", 64)}}, nil)
		return err
	}
	r.bare = func(workers int, inTx bool, done func()) bareQueue {
		w := &bareWorker{done: done, complete: func(context.Context, *river.Job[bare]) error { return nil }}
		if inTx {
			w.complete = func(ctx context.Context, j *river.Job[bare]) error {
				return within(ctx, func(tx T) error {
					_, err := river.JobCompleteTx[D](ctx, tx, j)
					return err
				})
			}
		}
		all := river.NewWorkers()
		river.AddWorker(all, w)
		c, err := river.NewClient[T](d, &river.Config{
			FetchCooldown: cooldown, Workers: all, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		})
		check(b, err)
		return c
	}
}

// accept measures one way to accept jobs, from several goroutines, and returns
// the time of one. The queue is empty at the start, no place is taken, and those
// uploads are gone.
func (r *rig) accept(b *testing.B, clients int, do func(context.Context, account.Account) error) time.Duration {
	b.Helper()
	const each = 100
	check(b, r.books.Write(b.Context(), func(tx *store.Tx) error {
		_, jobs := tx.ExecContext(b.Context(), `DELETE FROM river_job`)
		_, places := tx.ExecContext(b.Context(), `DELETE FROM detections`)
		return errors.Join(jobs, places)
	}))
	parked, err := r.spool.Parked(b.Context())
	check(b, err)
	for _, p := range parked {
		check(b, r.spool.Discard(b.Context(), p.Name))
	}
	unix.Sync() // what was removed is not this round's to write
	began := time.Now()
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			for range each / clients {
				if err := do(b.Context(), r.clients[i]); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	return time.Since(began) / each
}

// ways keeps the times of each round by name, and reports the quartiles of what
// the one takes over the other in the same round. The first round warms up.
type ways struct {
	times map[string][]time.Duration
	over  [][2]string // the one, and what it is compared with
}

func (w *ways) add(name string, d time.Duration) {
	if w.times == nil {
		w.times = map[string][]time.Duration{}
	}
	w.times[name] = append(w.times[name], d)
}

func (w *ways) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	for _, o := range w.over {
		one, other := w.times[o[0]], w.times[o[1]]
		first := min(1, len(one)-1)
		var ratios []float64
		for i := first; i < len(one); i++ {
			ratios = append(ratios, float64(one[i])/float64(other[i]))
		}
		slices.Sort(ratios)
		for _, quarter := range []int{1, 2, 3} {
			b.ReportMetric(ratios[(len(ratios)-1)*quarter/4], fmt.Sprintf("%s/%s-q%d", o[0], o[1], quarter))
		}
	}
	for name, times := range w.times {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds()), name+"-µs")
	}
}

// BenchmarkAccept: a job of River alone, and one with its place in the books; then
// both with an upload that is on disk before, which is what comes before 202.
func BenchmarkAccept(b *testing.B) {
	onDisks(b, func(b *testing.B, newRig func() *rig) {
		b.Helper()
		for _, clients := range []int{1, 10} {
			b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
				r := newRig()
				runner, err := r.runner(b.Context(), detector(good), Options{
					Queue: 256, Attempts: 3, Retry: time.Second, Deadline: time.Minute, RetryAfter: time.Second,
				})
				check(b, err)
				w := ways{over: [][2]string{{"books", "river"}, {"books+upload", "river+upload"}}}
				for b.Loop() {
					w.add("river", r.accept(b, clients, r.insert))
					w.add("books", r.accept(b, clients, func(ctx context.Context, a account.Account) error { return r.reserve(ctx, runner, a) }))
					w.add("river+upload", r.accept(b, clients, r.insertUpload))
					w.add("books+upload", r.accept(b, clients, func(ctx context.Context, a account.Account) error {
						_, err := r.submit(ctx, runner, a)
						return err
					}))
				}
				w.report(b)
			})
		}
	})
}

// BenchmarkAcceptBehind: one job more of an account of which 10,000 wait.
func BenchmarkAcceptBehind(b *testing.B) {
	const waiting = 10_000
	onDisks(b, func(b *testing.B, newRig func() *rig) {
		b.Helper()
		r := newRig()
		runner, err := r.runner(b.Context(), detector(good), Options{
			Queue: 10 * waiting, Attempts: 3, Retry: time.Second, Deadline: time.Minute, RetryAfter: time.Second,
		})
		check(b, err)
		check(b, r.reserve(b.Context(), runner, r.clients[0]))
		for have := 1; have < waiting; have *= 2 {
			check(b, r.books.Write(b.Context(), func(tx *store.Tx) error {
				_, err := tx.ExecContext(b.Context(), `
					INSERT INTO river_job (args, attempt, created_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags)
					SELECT args, attempt, created_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags
					FROM river_job WHERE state = 'available' LIMIT $1`, waiting-have)
				return err
			}))
		}
		check(b, r.books.Write(b.Context(), func(tx *store.Tx) error { return runner.order(b.Context(), tx) }))
		for b.Loop() {
			check(b, r.reserve(b.Context(), runner, r.clients[0]))
		}
	})
}

// insertUpload is what a program would do that has River and no books.
func (r *rig) insertUpload(ctx context.Context, a account.Account) error {
	_, task, err := r.task(a)
	if err != nil {
		return err
	}
	defer func() { _ = task.File.Close() }()
	if err := task.File.Park(task.ID); err != nil {
		return err
	}
	return r.insert(ctx, a)
}

// reserve accepts a job whose upload is elsewhere.
func (r *rig) reserve(ctx context.Context, runner *Runner, a account.Account) error {
	d := detection{ID: account.NewDetectionID(), Account: a.ID, SHA256: strings.Repeat("0", 64)}
	return runner.accepts.Do(ctx, accepted{account.Request{Account: a, Submission: account.Submission{ID: d.ID, Async: true, Sensitivity: "strict"}}, d})
}

// counted calls done for each result that the books have.
type counted struct {
	Books

	done func()
}

// SettleAll implements Books.
func (c counted) SettleAll(ctx context.Context, all []account.Ended, also ...account.Step) error {
	err := c.Books.SettleAll(ctx, all, also...)
	if err == nil {
		for range all {
			c.done()
		}
	}
	return err
}

// BenchmarkJobs: jobs with nothing to analyse, from the start of the queue to the
// last one's end. River alone tells the database of finished jobs now and then;
// in a transaction each, it does what one must that is to be counted once.
func BenchmarkJobs(b *testing.B) {
	const jobs, workers = 300, 10
	onDisks(b, func(b *testing.B, newRig func() *rig) {
		b.Helper()
		r := newRig()
		w := ways{over: [][2]string{{"deepfaked", "river"}, {"deepfaked", "river-tx"}}}
		for b.Loop() {
			for name, inTx := range map[string]bool{"river": false, "river-tx": true} {
				for range jobs {
					check(b, r.insert(b.Context(), r.clients[0]))
				}
				wait, done := countdown(jobs)
				q := r.bare(workers, inTx, done)
				w.add(name, timed(b, q.Start, wait))
				check(b, q.Stop(context.Background()))
			}
			wait, done := countdown(jobs)
			runner := r.counting(b, workers, done)
			for i := range jobs {
				_, err := r.submit(b.Context(), runner, r.clients[i%len(r.clients)])
				check(b, err)
			}
			w.add("deepfaked", timed(b, runner.Start, wait))
			check(b, runner.Close(context.Background()))
		}
		w.report(b)
	})
}

func (r *rig) counting(b *testing.B, workers int, done func()) *Runner {
	b.Helper()
	opts := options(workers)
	runner, err := New(b.Context(), r.deps(detector(good), counted{r.ledger, done}), opts)
	check(b, err)
	return runner
}

// countdown returns what waits for n calls of done.
func countdown(n int64) (wait chan struct{}, done func()) {
	wait = make(chan struct{})
	var left atomic.Int64
	left.Store(n)
	return wait, func() {
		if left.Add(-1) == 0 {
			close(wait)
		}
	}
}

func timed(b *testing.B, start func(context.Context) error, wait <-chan struct{}) time.Duration {
	b.Helper()
	began := time.Now()
	check(b, start(context.WithoutCancel(b.Context())))
	<-wait
	return time.Since(began)
}
