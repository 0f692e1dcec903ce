package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/preprocess"
)

// Books takes the outcome of a job. Both calls do their work even when ctx is
// cancelled.
type Books interface {
	Settle(ctx context.Context, id string, o account.Outcome) (account.Detection, error)
	Fail(ctx context.Context, id, message string) error
}

// ErrClosed says that the runner takes no more work, or that it was closed
// before a job could finish.
var ErrClosed = errors.New("the service is shutting down")

// Deps is what a Runner works with.
type Deps struct {
	Detector Detector
	Books    Books
	// Sentence words an error for the client, as a synchronous call would.
	Sentence func(error) string
	Logger   *slog.Logger
}

// Runner runs jobs within the process, in order of submission. It is safe for
// concurrent use.
type Runner struct {
	deps  Deps
	opts  Options
	end   context.CancelCauseFunc
	queue chan Task

	mu      sync.Mutex // guards closed, and queue against closing during a send
	closed  bool
	workers sync.WaitGroup
}

// New starts the workers. The caller ends them with Close.
func New(deps Deps, opts Options) (*Runner, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if deps.Detector == nil || deps.Books == nil || deps.Sentence == nil || deps.Logger == nil {
		return nil, errors.New("jobs: detector, books, sentence and logger must be set")
	}
	ctx, end := context.WithCancelCause(context.Background())
	r := &Runner{deps: deps, opts: opts, end: end, queue: make(chan Task, opts.Queue)}
	for range opts.Workers {
		r.workers.Go(func() { r.work(ctx) })
	}
	return r, nil
}

// Submit queues t and takes its file over. When it fails the file and the
// reserved place stay the caller's: *inference.SaturatedError when the queue is
// full, ErrClosed after Close. It never waits.
func (r *Runner) Submit(t Task) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	select {
	case r.queue <- t:
		return nil
	default:
		return &inference.SaturatedError{RetryAfter: r.opts.RetryAfter}
	}
}

// Close takes no more jobs and waits for those it has until ctx ends. What is
// not finished by then is failed with a sentence, and its place released. It
// returns once every worker has ended, and ctx's error when jobs were cut
// short. It is idempotent.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.queue)
	}
	r.mu.Unlock()
	done := make(chan struct{})
	go func() { r.workers.Wait(); close(done) }()
	select {
	case <-done:
		r.end(ErrClosed)
		return nil
	case <-ctx.Done():
		r.end(ErrClosed)
		<-done
		return fmt.Errorf("jobs were cut short: %w", ctx.Err())
	}
}

// work runs jobs until the queue is closed and empty.
func (r *Runner) work(ctx context.Context) {
	for t := range r.queue {
		r.run(ctx, t)
	}
}

// run takes one job to its end, whatever happens in it.
func (r *Runner) run(ctx context.Context, t Task) {
	defer func() { _ = t.File.Close() }()
	ctx, cancel := context.WithTimeout(ctx, r.opts.Deadline)
	defer cancel()
	outcome, err := r.attempt(ctx, t)
	if err == nil {
		_, err = r.deps.Books.Settle(ctx, t.ID, outcome)
	}
	if err == nil {
		return
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrClosed) && errors.Is(err, context.Canceled) {
		err = cause
	}
	level := slog.LevelError
	if media := (*preprocess.Error)(nil); errors.As(err, &media) {
		level = slog.LevelInfo // the file's fault
	}
	r.deps.Logger.Log(ctx, level, "job failed", "request_id", t.RequestID, "detection", t.ID, "error", err)
	if err := r.deps.Books.Fail(ctx, t.ID, r.deps.Sentence(err)); err != nil {
		r.deps.Logger.Error("job could not be failed", "detection", t.ID, "error", err)
	}
}

// attempt judges t, and again after the predicted wait while the service is
// saturated: nobody is waiting on a connection, so there is time.
func (r *Runner) attempt(ctx context.Context, t Task) (account.Outcome, error) {
	for {
		outcome, err := r.judge(ctx, t)
		var busy *inference.SaturatedError
		if !errors.As(err, &busy) {
			return outcome, err
		}
		timer := time.NewTimer(max(busy.RetryAfter, time.Second))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return outcome, errors.Join(ctx.Err(), err)
		}
	}
}

// judge turns a panic into an error: it costs its own job and no other.
func (r *Runner) judge(ctx context.Context, t Task) (o account.Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the analysis panicked: %v", v)
			r.deps.Logger.Error("panic", "request_id", t.RequestID, "detection", t.ID, "stack", string(debug.Stack()))
		}
	}()
	return Judge(ctx, r.deps.Detector, t, inference.Background)
}
