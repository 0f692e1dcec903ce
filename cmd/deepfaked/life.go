package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"deepfaked/api"
)

// serve answers requests and runs jobs until ctx ends, and then lets what runs
// come to its end within the drain time. A service that can't judge stays to say
// so to who asks; nobody asks a worker, which returns the error.
func (s *service) serve(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	var starting, background sync.WaitGroup
	broken := make(chan error, 1)
	starting.Go(func() {
		if err := s.start(running); err != nil && running.Err() == nil && s.server == nil {
			broken <- err
		}
	})
	background.Go(func() { s.retain(running) })
	background.Go(func() { s.tend(running) })
	background.Go(func() {
		starting.Wait()
		s.examine(running)
	})
	finish := func() {
		began := time.Now()
		starting.Wait() // or jobs would be started that nobody ends
		s.finish(s.cfg.Drain - time.Since(began))
	}
	finished := make(chan struct{})
	untold := context.AfterFunc(ctx, func() {
		defer close(finished)
		// Whoever reads the log may do so no more: nothing waits for it.
		go s.logger.Info("stopping", "drain", s.cfg.Drain.String())
		finish() // beside the requests: no job is begun that would be cut short
	})
	var err error
	if s.server != nil {
		err = s.server.Serve(ctx)
	} else {
		select {
		case <-ctx.Done():
		case err = <-broken:
		}
	}
	stop()
	background.Wait()
	if untold() {
		finish()
	} else {
		<-finished
	}
	s.settleUp()
	return err
}

// finish has no further job begun, and lets those that run come to their end within
// what is left of the drain time.
func (s *service) finish(left time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), max(left, 0))
	defer cancel()
	if err := s.jobs.Close(ctx); err != nil {
		go s.logger.Warn("the drain time was over before all jobs were done; they are taken up again", "error", err)
	}
}

// start loads the engine, takes up what earlier processes left behind and declares
// the service ready, or logs why it is not.
func (s *service) start(ctx context.Context) error {
	began := time.Now()
	e, err := s.open(ctx)
	unready := "the analysis"
	if err == nil {
		s.judge.engine.Store(e)
		unready = "the jobs"
		err = s.takeUp(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err() // told to stop meanwhile
	}
	if err != nil {
		s.setReady(fmt.Errorf("%s %w", unready, api.ErrNotStarted)) // whoever reads that it is not may ask
		s.logger.Error("not ready", "error", err)
		return err
	}
	s.setReady(nil)
	s.logger.Info("ready", "provider", e.provider, "quality", e.inUse.Quality, "after", time.Since(began).Round(time.Millisecond).String())
	return nil
}

// takeUp ends what earlier processes left behind and starts the jobs. A database that
// fails may be back soon: a service tries again until ctx ends, while a worker, which
// nobody asks, returns the error.
func (s *service) takeUp(ctx context.Context) error {
	for failing := false; ; failing = true {
		err := s.release(ctx)
		if err == nil {
			err = s.jobs.Start(ctx)
		}
		if err == nil || ctx.Err() != nil || s.server == nil {
			return err
		}
		if !failing {
			s.logger.Error("the jobs could not be started; that is tried again", "error", err)
			s.setReady(errors.New("the jobs can't be started for now, which is tried again; the log of the service says why"))
		}
		sleep(ctx, tendEvery)
	}
}

// sleep waits, but not beyond the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// unreadiness says why nothing can be judged yet, or ever; its zero value is ready.
type unreadiness struct{ error }

func (s *service) setReady(err error) {
	s.unready.Store(unreadiness{err})
	s.tellReady()
}

// tellReady tells the server of whatever may have changed.
func (s *service) tellReady() {
	s.telling.Lock()
	defer s.telling.Unlock()
	if s.server != nil {
		s.server.SetReady(s.ready())
	}
}

// ready says why nothing can be judged, or what was judged not be written down.
func (s *service) ready() error {
	state, settled := s.unready.Load().(unreadiness)
	switch {
	case !settled:
		return api.ErrStarting
	case state.error == nil && s.astray.Load():
		return errors.New("the database is not where it was opened; the log of the service says what is there")
	}
	return state.error
}

func (s *service) open(ctx context.Context) (*engine, error) {
	e, err := openEngine(ctx, s.cfg, s.logger, care{measure: true, watch: s.metrics})
	if err != nil {
		return nil, err
	}
	s.onClose(e.closeUnlessItHangs)
	return e, nil
}
