package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/spool"
	"deepfaked/preprocess"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type detector func(context.Context, inference.Request) (inference.Result, error)

func (d detector) Detect(ctx context.Context, r inference.Request) (inference.Result, error) {
	return d(ctx, r)
}

func good(context.Context, inference.Request) (inference.Result, error) {
	return inference.Result{Verdict: inference.Real, Confidence: .75, Kind: preprocess.Audio}, nil
}

// books remembers what became of each job.
type books struct {
	mu  sync.Mutex
	got map[string]string
}

func (b *books) note(id, what string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, twice := b.got[id]; twice {
		what = "ended twice"
	}
	b.got[id] = what
	return nil
}

func (b *books) Settle(_ context.Context, id string, o account.Outcome) (account.Detection, error) {
	return account.Detection{}, b.note(id, fmt.Sprintf("%s %s %v", o.Verdict, o.Kind, o.Confidence))
}

func (b *books) Fail(_ context.Context, id, message string) error { return b.note(id, message) }

func (b *books) want(t *testing.T, id, what string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.got[id] != what {
		t.Errorf("%s ended with %q, want %q", id, b.got[id], what)
	}
}

type fixture struct {
	*Runner
	books *books
	spool *spool.Spool
}

func setup(t *testing.T, d detector, opts Options) *fixture {
	t.Helper()
	s, err := spool.New(spool.Options{Dir: filepath.Join(t.TempDir(), "spool")})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{books: &books{got: map[string]string{}}, spool: s}
	f.Runner, err = New(Deps{
		Detector: d, Books: f.books, Sentence: func(err error) string { return "said " + err.Error() },
		Logger: slog.New(slog.DiscardHandler),
	}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) task(t *testing.T, id string) Task {
	t.Helper()
	file, err := f.spool.Create()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write([]byte(id)); err != nil {
		t.Fatal(err)
	}
	return Task{ID: id, Account: "a", File: file}
}

func (f *fixture) submit(t *testing.T, id string) {
	t.Helper()
	if err := f.Submit(f.task(t, id)); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) empty(t *testing.T) {
	t.Helper()
	if files, _ := f.spool.Usage(); files != 0 {
		t.Errorf("%d files are left", files)
	}
}

func options(workers, queue int) Options {
	return Options{Workers: workers, Queue: queue, Deadline: time.Minute, RetryAfter: 7 * time.Second}
}

func TestJobsEndInTheBooks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		detect detector
		want   string
	}{
		"success": {good, "real audio 0.75"},
		"failure": {func(context.Context, inference.Request) (inference.Result, error) {
			return inference.Result{}, errors.New("broken")
		}, "said broken"},
		"panic": {func(context.Context, inference.Request) (inference.Result, error) { panic("ouch") }, "said the analysis panicked: ouch"},
		"an answer that can't be true": {func(context.Context, inference.Request) (inference.Result, error) {
			return inference.Result{Verdict: inference.Real, Confidence: 2, Kind: preprocess.Audio}, nil
		}, "said the detector gave the confidence 2"},
		"a verdict that is none": {func(context.Context, inference.Request) (inference.Result, error) {
			return inference.Result{Verdict: "perhaps", Kind: preprocess.Audio}, nil
		}, `said the detector gave the verdict "perhaps"`},
		"a media type that is none": {func(context.Context, inference.Request) (inference.Result, error) {
			return inference.Result{Verdict: inference.Fake}, nil
		}, `said the detector gave the media type ""`},
		"background priority and its own file": {func(ctx context.Context, r inference.Request) (inference.Result, error) {
			content := make([]byte, 10)
			n, _ := r.File.Read(content)
			if r.Priority != inference.Background || string(content[:n]) != "det_1" || r.Size != 5 || r.Account != "a" {
				return inference.Result{}, fmt.Errorf("got %+v with %q", r, content[:n])
			}
			// The spool hashed every upload, and nobody asked it for the hash.
			if r.SHA256 != "27a1ac1331a9f2f5e93ad77031d46f72cd1e2a4db58b36fbcea353dfb205f11c" {
				return inference.Result{}, fmt.Errorf("got %+v with %q", r, content[:n])
			}
			return good(ctx, r)
		}, "real audio 0.75"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, c.detect, options(1, 1))
			f.submit(t, "det_1")
			if err := f.Close(t.Context()); err != nil {
				t.Error(err)
			}
			f.books.want(t, "det_1", c.want)
			f.empty(t)
		})
	}
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}, 9), make(chan struct{})
	f := setup(t, func(ctx context.Context, r inference.Request) (inference.Result, error) {
		started <- struct{}{}
		<-release
		return good(ctx, r)
	}, options(2, 1))
	f.submit(t, "det_1")
	f.submit2(t, started)
	refused := f.task(t, "det_4")
	var busy *inference.SaturatedError
	if err := f.Submit(refused); !errors.As(err, &busy) || busy.RetryAfter != 7*time.Second {
		t.Errorf("a full queue says %v", err)
	}
	if _, err := refused.File.Rewind(); err != nil {
		t.Errorf("the refused file was taken: %v", err)
	}
	_ = refused.File.Close()
	close(release)
	if err := f.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"det_1", "det_2", "det_3"} {
		f.books.want(t, id, "real audio 0.75")
	}
	late := f.task(t, "det_5")
	if err := f.Submit(late); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed runner says %v", err)
	}
	_ = late.File.Close()
	f.empty(t)
}

// submit2 submits a second job once the first runs, and a third that waits.
func (f *fixture) submit2(t *testing.T, started <-chan struct{}) {
	t.Helper()
	<-started
	f.submit(t, "det_2")
	<-started
	f.submit(t, "det_3")
	if len(f.queue) != 1 {
		t.Errorf("%d jobs wait", len(f.queue))
	}
}

func TestCloseCutsShortWhatDoesNotFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, func(ctx context.Context, _ inference.Request) (inference.Result, error) {
			<-ctx.Done()
			return inference.Result{}, ctx.Err()
		}, options(1, 2))
		f.submit(t, "det_1")
		f.submit(t, "det_2")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		if err := f.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close says %v", err)
		}
		if waited := time.Since(start); waited != 5*time.Second {
			t.Errorf("Close waited %v", waited)
		}
		f.books.want(t, "det_1", "said the service is shutting down")
		f.books.want(t, "det_2", "said the service is shutting down")
		f.empty(t)
		if err := f.Close(t.Context()); err != nil {
			t.Errorf("a second Close says %v", err)
		}
	})
}

func TestDeadlineOfOneJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, func(ctx context.Context, _ inference.Request) (inference.Result, error) {
			<-ctx.Done()
			return inference.Result{}, ctx.Err()
		}, options(1, 1))
		f.submit(t, "det_1")
		if err := f.Close(t.Context()); err != nil {
			t.Error(err)
		}
		f.books.want(t, "det_1", "said context deadline exceeded")
	})
}

func TestSaturationIsWaitedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start, calls := time.Now(), 0
		f := setup(t, func(ctx context.Context, r inference.Request) (inference.Result, error) {
			if calls++; calls < 3 {
				return inference.Result{}, &inference.SaturatedError{RetryAfter: 9 * time.Second}
			}
			return good(ctx, r)
		}, options(1, 1))
		f.submit(t, "det_1")
		if err := f.Close(t.Context()); err != nil {
			t.Error(err)
		}
		f.books.want(t, "det_1", "real audio 0.75")
		if waited := time.Since(start); waited != 18*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestCloseDuringSaturation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, func(context.Context, inference.Request) (inference.Result, error) {
			return inference.Result{}, &inference.SaturatedError{RetryAfter: time.Hour}
		}, Options{Workers: 1, Queue: 1, Deadline: 2 * time.Hour, RetryAfter: time.Second})
		f.submit(t, "det_1")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.Close(ctx); err == nil {
			t.Error("Close did not say that a job was cut short")
		}
		f.books.want(t, "det_1", "said the service is shutting down")
		f.empty(t)
	})
}

// A result that comes when nobody wants it any more is not charged.
func TestLateResult(t *testing.T) {
	t.Parallel()
	f := setup(t, good, options(1, 1))
	defer func() { _ = f.Close(t.Context()) }()
	ctx, cancel := context.WithCancel(t.Context())
	task := f.task(t, "det_1")
	defer func() { _ = task.File.Close() }()
	_, err := Judge(ctx, detector(func(c context.Context, r inference.Request) (inference.Result, error) {
		cancel()
		return good(c, r)
	}), task, inference.Interactive)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a late result gave %v", err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*Options){
		"workers":     func(o *Options) { o.Workers = 0 },
		"queue":       func(o *Options) { o.Queue = 0 },
		"deadline":    func(o *Options) { o.Deadline = 0 },
		"retry after": func(o *Options) { o.RetryAfter = 0 },
	} {
		opts := DefaultOptions()
		edit(&opts)
		if _, err := New(Deps{}, opts); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := New(Deps{}, DefaultOptions()); err == nil {
		t.Error("accepted without dependencies")
	}
}
