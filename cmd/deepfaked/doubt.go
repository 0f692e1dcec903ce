package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deepfaked/inference"
)

// An engine that was proven at the start may cease to work later: a GPU is lost, or no
// decoder can be started any more. Each analysis fails at once then, and a process that
// fails that fast would take every job that waits, those of healthy processes too, through
// all its attempts within seconds.

// Between two tests of an engine: calm after one that it passed, or files that spoil their
// own analysis would have it tested without end.
const (
	calm    = time.Second
	testFor = 30 * time.Second // what takes longer has failed
)

// hung is how late a batch is that nobody waits for any longer: its device is not slow,
// it hangs. Requests that have rows in it hang as well, past their deadlines.
const hung = 2 * time.Minute

// doubted has the engine tested when an analysis failed by no fault of its file, and says
// whether the engine was failing already when it began.
func (l *late) doubted(err error, out bool) error {
	fault := (*inference.FaultError)(nil)
	if !errors.As(err, &fault) {
		return err
	}
	if fault.Out = out; !out {
		select {
		case l.doubts <- struct{}{}:
		default: // one is enough
		}
	}
	return err
}

// healthy says why nothing that a restart would not mend can be judged.
func (l *late) healthy() error {
	if l.out.Load() {
		return errors.New("the analysis fails its own test")
	}
	return nil
}

// overdue is for how long a batch should have been done, 0 when none is late.
func (l *late) overdue() time.Duration {
	if e := l.engine.Load(); e != nil {
		return e.scheduler.Overdue()
	}
	return 0
}

// closeUnlessItHangs leaves an engine whose device hangs as it is: that is not to be closed, and what is
// closed after it, such as this process's entry among those at work, would be waited for in vain.
func (e *engine) closeUnlessItHangs() error {
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for {
		select {
		case err := <-closed:
			return err
		case <-ticker.C:
			if late := e.scheduler.Overdue(); late > hung {
				return fmt.Errorf("a batch should have been done %s ago; its device hangs, and is left behind", late.Round(time.Second))
			}
		}
	}
}

// examine tests the engine each time that it is doubted, or that a batch hangs, and has
// nothing begun here for as long as it fails.
func (s *service) examine(ctx context.Context) {
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for stuck := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-s.judge.doubts:
		case <-ticker.C:
			before := stuck
			if stuck = s.judge.overdue() > hung; !stuck || !before { // twice: who was stopped is late when it goes on
				continue
			}
		}
		for err := s.test(ctx); err != nil && ctx.Err() == nil; {
			s.suspend(ctx, err)
			for s.test(ctx) != nil && ctx.Err() == nil {
				sleep(ctx, tendEvery)
			}
			err = s.resume(ctx)
		}
		sleep(ctx, calm)
	}
}

// test leaves a test behind that hangs with what it tests; none is begun beside it once
// that is plain.
func (s *service) test(ctx context.Context) error {
	if late := s.judge.overdue(); late > hung {
		return fmt.Errorf("a batch should have been done %s ago; its device hangs", late.Round(time.Second))
	}
	ctx, cancel := context.WithTimeout(ctx, testFor)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.judge.engine.Load().test(ctx, s.judge.out.Load()) }()
	select {
	case err := <-done:
		return err
	case <-time.After(testFor + tendEvery):
		return errors.New("self-test: it does not come to its end")
	}
}

func (s *service) suspend(ctx context.Context, err error) {
	s.judge.out.Store(true)
	s.logger.Error("nothing can be analysed for now; jobs are left to others until the self-test passes again", "error", err)
	s.setReady(errors.New("the analysis fails its own test, which is repeated; the log of the service says why"))
	ctx, cancel := context.WithTimeout(ctx, tendEvery) // what still runs then may be hanging
	defer cancel()
	if err := s.jobs.Pause(ctx); err != nil && ctx.Err() == nil {
		s.logger.Error("the jobs could not be paused", "error", err)
	}
}

// resume has people's files judged at once, and jobs begun when those that still run have
// ended. The error is that of the test, where it fails again before that.
func (s *service) resume(ctx context.Context) error {
	s.judge.out.Store(false)
	s.setReady(nil)
	s.logger.Info("the self-test passes again")
	for ctx.Err() == nil {
		err := s.tryJobs(ctx)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, context.DeadlineExceeded):
			s.logger.Error("the jobs could not be started again; that is tried again", "error", err)
			sleep(ctx, tendEvery)
		}
		if err := s.test(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// tryJobs waits for jobs that still run for no longer than between two looks at the engine.
func (s *service) tryJobs(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tendEvery)
	defer cancel()
	return s.jobs.Resume(ctx)
}
