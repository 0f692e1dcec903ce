package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"deepfaked/internal/account"
	"deepfaked/internal/gather"
	"deepfaked/internal/store"
)

// Books hold what becomes of a job. What a step does becomes true together with
// the entries or not at all; SettleAll and Fail do their work even when ctx is
// cancelled.
type Books interface {
	ReserveAll(ctx context.Context, all []account.Request, also ...account.Step) error
	SettleAll(ctx context.Context, all []account.Ended, also ...account.Step) error
	Fail(ctx context.Context, id, message string, also ...account.Step) error
}

// ErrClosed says that the service takes no more work.
var ErrClosed = errors.New("the service is shutting down")

// Deps is what a Runner works with. It closes none of them, and the store must
// stay open until Close has returned.
type Deps struct {
	Detector Detector
	Books    Books
	Store    *store.Store // the books', in which the queue lies
	Process  *store.Process
	Uploads  Uploads
	// Sentence words an error for the client, as a synchronous call would.
	Sentence func(error) string
	Logger   *slog.Logger
}

func (d Deps) validate() error {
	if d.Detector == nil || d.Books == nil || d.Store == nil || d.Process == nil || d.Uploads == nil || d.Sentence == nil || d.Logger == nil {
		return errors.New("jobs: detector, books, store, process, uploads, sentence and logger must be set")
	}
	return nil
}

// Runner keeps jobs in the database and runs them: what it has accepted outlives
// the process. It is safe for concurrent use.
type Runner struct {
	deps     Deps
	opts     Options
	queue    queue
	words    words
	home     string // the mark of the place in which uploads wait
	bell     bell
	left     leftovers
	unsure   leftovers // of jobs that may have ended, as the answer of the database was lost
	inFlight inFlight
	door     *door
	accepts  *gather.Gather[accepted]
	settles  *gather.Gather[settled]
	started  atomic.Bool
	closed   atomic.Bool
	stopping atomic.Bool // jobs are being cut short
}

// New brings the queue's tables up to date, for which the caller must hold the
// data folder's claim where they are in SQLite, and sees that uploads wait where those of the
// database do (ErrElsewhere, ErrForeign). It runs nothing before Start. The caller ends it with
// Close.
func New(ctx context.Context, deps Deps, opts Options) (*Runner, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if err := deps.validate(); err != nil {
		return nil, err
	}
	r := &Runner{deps: deps, opts: opts, door: newDoor(opts), words: wordsOf(deps.Store), bell: newBell()}
	turns := 1 // as many as there are writers
	if deps.Store.Postgres() != nil {
		turns = 2 // one runs statements while the other waits for the disk
	}
	r.accepts, r.settles = gather.New(turns, together, r.reserve), gather.New(turns, together, r.settleAll)
	if err := Migrate(ctx, deps.Store); err != nil {
		return nil, err
	}
	if err := r.findHome(ctx); err != nil {
		return nil, err
	}
	var err error
	if r.queue, err = openQueue(deps.Store, r.bell, r.config()); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return r, nil
}

// Submit accepts t for an account: its place, its job and its upload are on disk
// when it returns nil. Then the file may be closed; the runner has it by its
// name. The error is an *inference.SaturatedError and ErrFull when the queue is
// full, or ErrShare when it is for this account, or one of the books; nothing is left of the submission then. Of one that matches
// gather.ErrUndecided a job may be left, until the books take it out, and its upload. What is accepted after Close waits
// for the next process.
func (r *Runner) Submit(ctx context.Context, a account.Account, s account.Submission, t Task) error {
	if err := r.door.enter(a.ID); err != nil {
		return err
	}
	waits := false
	defer func() { // also of a panic, which the server survives
		if !waits {
			r.door.leave(a.ID)
		}
	}()
	if err := r.deps.Uploads.Park(ctx, t.ID, t.File); err != nil {
		r.left.add(t.ID) // a bucket may have it all the same, and the client need not wait for that to be asked
		return err
	}
	job := newDetection(t)
	err := r.accepts.Do(ctx, accepted{account.Request{Account: a, Submission: s}, job})
	if errors.Is(err, gather.ErrUndecided) {
		return err // its job may want the upload; without one, Sweep removes it
	}
	if err != nil {
		return errors.Join(err, r.discard(ctx, t.ID))
	}
	waits = true
	r.bell.ring(job.queue)
	return nil
}

// together is how many jobs are accepted in a transaction, or settled, at the most.
const together = 32

// accepted is a job whose upload is on disk.
type accepted struct {
	request account.Request
	job     detection
}

// reserve writes down jobs and their places in one transaction.
func (r *Runner) reserve(ctx context.Context, all []accepted) error {
	requests, jobs := make([]account.Request, len(all)), make([]detection, len(all))
	for i, a := range all {
		requests[i], jobs[i] = a.request, a.job
	}
	asked, accepted := r.door.ask(), []detection(nil)
	var said, waiting counts
	defer func() { r.door.answered(asked, waiting, accepted) }()
	err := r.deps.Books.ReserveAll(ctx, requests, func(ctx context.Context, tx *store.Tx) (err error) {
		r.door.counting(asked)
		said, err = r.insert(ctx, tx, jobs)
		return err
	})
	switch {
	case account.IsUnknown(err):
		err = fmt.Errorf("%w: %w", gather.ErrUndecided, err) // alone, each might be refused beside its own job
	case err == nil:
		waiting, accepted = said, jobs
	case errors.Is(err, ErrFull), errors.Is(err, ErrShare):
		waiting = said // not what has been rolled back
	}
	return err
}

// Start ends what can't go on, takes up what earlier processes left, and runs
// jobs until Close. Once it has succeeded it must not be called again.
func (r *Runner) Start(ctx context.Context) error {
	if err := r.resume(ctx); err != nil {
		return err
	}
	if r.opts.Workers == 0 || r.closed.Load() {
		return nil
	}
	r.started.Store(true)
	if err := r.queue.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the jobs: %w", err)
	}
	return nil
}

// Pause has no further job begun until Resume: those that wait are left to other
// processes. It returns once those that run have ended, or with ctx's error.
func (r *Runner) Pause(ctx context.Context) error {
	if !r.started.Load() {
		return nil
	}
	return r.queue.Stop(ctx)
}

// Resume has jobs begun again, once those have ended that ran when they were paused. It
// does nothing after Close.
func (r *Runner) Resume(ctx context.Context) error {
	if !r.started.Load() || r.closed.Load() {
		return nil
	}
	if err := r.queue.Stop(ctx); err != nil {
		return err
	}
	err := r.queue.Start(context.WithoutCancel(ctx))
	if r.closed.Load() { // and may have found nothing to stop
		r.stopping.Store(true)
		err = errors.Join(err, r.cutShort(ctx))
	}
	return err
}

// Close takes no more jobs and lets those that run come to their end until ctx
// ends. What is not finished by then, and what has not begun, is left for the
// next process, at no attempt's cost unless it does not end soon after ctx has. It returns once no
// job runs any more, or then, and ctx's error when some were cut short. It is idempotent.
func (r *Runner) Close(ctx context.Context) error {
	if r.closed.Swap(true) || !r.started.Load() {
		return nil
	}
	err := r.queue.Stop(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	r.stopping.Store(true)
	return errors.Join(fmt.Errorf("jobs were cut short: %w", ctx.Err()), r.cutShort(ctx))
}

// unwinding is how long jobs have to end that are cut short, longer than a database is waited
// for that another program has locked. Where it hangs, or a device, they don't end, and whoever
// stops the process won't wait for them: they cost an attempt.
const unwinding = 12 * time.Second

func (r *Runner) cutShort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unwinding)
	defer cancel()
	return r.queue.StopAndCancel(ctx)
}
