package main

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/internal/job"
	"deepfaked/models"
)

// hanging is a model whose runs do not end until it is closed.
type hanging chan struct{}

func (hanging) Sizes() []int       { return []int{1} }
func (hanging) Row(int) models.Row { return models.Row{F32: make([]float32, 1)} }
func (h hanging) Run(int) ([]float32, error) {
	<-h
	return []float32{0}, nil
}

// hangingScheduler has one executor of one such model. The caller closes both.
func hangingScheduler(t *testing.T) (hanging, *inference.Scheduler) {
	t.Helper()
	model := make(hanging)
	scheduler, err := inference.NewScheduler(inference.DefaultSchedulerOptions(), []inference.Executor{{"m": model}})
	require.NoError(t, err)
	return model, scheduler
}

// empty takes every file for one without anything in it.
type empty struct{}

func (empty) Try(context.Context, *os.File, int64) error { return nil }

// examined is a service that judges with a decoder, and tests itself until ctx ends.
func examined(ctx context.Context, scheduler *inference.Scheduler, decoders trial) *service {
	s := &service{logger: slog.New(slog.DiscardHandler), judge: &late{doubts: make(chan struct{}, 1)}, jobs: &job.Runner{}}
	s.judge.engine.Store(&engine{scheduler: scheduler, decoders: decoders})
	s.setReady(nil)
	go s.examine(ctx)
	return s
}

// TestRunThatHangs: a GPU that hung returned no error, so that nothing doubted it. Requests
// stayed for good, no self-test came to its end, and the process was healthy and ready.
func TestRunThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model, scheduler := hangingScheduler(t)
		defer scheduler.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := examined(ctx, scheduler, empty{})
		go func() {
			_, _ = scheduler.Run(ctx, inference.Work{Model: "m", Rows: 1, Fill: func(int, models.Row) {}})
		}()
		<-time.After(hung)
		require.NoError(t, s.ready(), "it may be slow")
		<-time.After(3 * tendEvery)
		require.ErrorContains(t, s.ready(), "fails its own test")
		require.Error(t, s.judge.healthy())
		assert.ErrorContains(t, s.test(ctx), "its device hangs")

		close(model)
		<-time.After(2 * tendEvery)
		require.NoError(t, s.ready())
		require.NoError(t, s.judge.healthy())
	})
}

// TestSelfTestThatHangs: a test that waited for a run that hung took what examines the
// engine along with it.
func TestSelfTestThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model, scheduler := hangingScheduler(t)
		defer scheduler.Close()
		defer close(model)
		s := &service{judge: &late{}}
		s.judge.engine.Store(&engine{scheduler: scheduler, decoders: empty{}, cards: []models.Card{{Name: "m"}}})
		assert.ErrorContains(t, s.test(t.Context()), "does not come to its end")
	})
}

// TestADeviceThatHangsIsLeftBehind: a process whose device hung, and that was told to stop, waited for it
// for good, and others took it for one at work, and not its jobs.
func TestADeviceThatHangsIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model, scheduler := hangingScheduler(t)
		e := &engine{scheduler: scheduler}
		e.onClose(func() error { scheduler.Close(); return nil })
		go func() {
			_, _ = scheduler.Run(t.Context(), inference.Work{Model: "m", Rows: 1, Fill: func(int, models.Row) {}})
		}()
		synctest.Wait()
		start := time.Now()
		require.ErrorContains(t, e.closeUnlessItHangs(), "its device hangs")
		assert.Less(t, time.Since(start), hung+2*tendEvery)
		close(model)
		synctest.Wait()
		assert.NoError(t, e.closeUnlessItHangs())
	})
}
