package main

import (
	"context"
	"errors"
	"time"

	"deepfaked/internal/account"
)

// retain deletes results and kept uploads whose time has come. It looks at the clock at
// least once a day, or each look would find that it has leapt.
func (s *service) retain(ctx context.Context) {
	ticker := time.NewTicker(min(s.cfg.Retention.Interval, 24*time.Hour))
	defer ticker.Stop()
	for {
		s.purge(ctx)
		if _, err := s.jobs.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.logger.Error("uploads that no job needs could not be removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// purge deletes what is due, unless the clock that says so may be wrong, or the books
// can't tell whether it is.
func (s *service) purge(ctx context.Context) {
	// The times of files are by this machine's clock, or a file server's. One that is ahead of the
	// database's would have them deleted too soon by itself, and one that is behind by the database's.
	// What they say is read before the books vouch for them, as they may leap at any time.
	now := s.process.Now()
	if own := time.Now(); own.Before(now) {
		now = own
	}
	n, err := s.ledger.Purge(ctx, s.cfg.Retention.Results)
	leapt, doubted := errors.AsType[*account.LeapError](err)
	switch {
	case ctx.Err() != nil:
		return
	case doubted:
		s.logger.Warn("results and kept uploads are not deleted for now", "error", leapt)
		return
	case err != nil:
		s.logger.Error("results could not be deleted, and kept uploads are left as well", "error", err)
		return
	case n > 0:
		s.logger.Info("deleted results whose time was over", "detections", n)
	}
	n, err = s.uploads.Purge(now.Add(-s.cfg.Retention.Results))
	if err != nil {
		s.logger.Error("kept uploads could not be deleted", "error", err)
	}
	if n > 0 {
		s.logger.Info("deleted kept uploads whose time was over", "files", n)
	}
}

// tendEvery is how soon what was begun and not ended is ended: what this process
// owes the books after the database has failed, and what others left.
const tendEvery = 5 * time.Second

// tend ends what was begun and not ended. What fails is tried again; of a failure
// that lasts, the first is logged.
func (s *service) tend(ctx context.Context) {
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for owed, failing := 0, false; ; {
		for _, l := range s.limits {
			l.Look()
		}
		s.lookForBooks()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if n, _ := s.jobs.Clear(ctx); n > 0 { // that it could not be has been said
			s.logger.Info("removed uploads that were left, or may have been, when the store failed", "uploads", n)
		}
		before := owed
		left, err := s.ledger.Retry(ctx)
		if owed = left; err == nil && before > 0 {
			s.logger.Info("wrote down the ends of detections that had failed to be", "detections", before)
		}
		if err == nil {
			err = s.inherit(ctx)
		}
		if err != nil && ctx.Err() == nil && (!failing || owed != before) {
			s.untended(owed, err)
		}
		failing = err != nil
	}
}

// lookForBooks has submissions refused while the file of the database is gone or another one is
// in its place: what is promised into one that nobody finds again is lost.
func (s *service) lookForBooks() {
	err := s.books.Astray()
	if s.astray.Swap(err != nil) == (err != nil) {
		return
	}
	s.tellReady()
	if err == nil {
		s.logger.Info("the database is where it was opened again")
		return
	}
	s.logger.Error("the database is not where it was opened; nothing more is accepted until it is back, and what is written down meanwhile is lost if it does not come back", "error", err)
}

// settleUp tells the books once more what they have not taken yet, as nobody will know of it
// when this process has ended.
func (s *service) settleUp() {
	ctx, cancel := context.WithTimeout(context.Background(), tendEvery)
	defer cancel()
	if left, err := s.ledger.Retry(ctx); err != nil {
		s.logger.Error("what was begun could not be ended before the service did; clients who were told of an error may be charged", "detections", left, "error", err)
	}
}

// untended says what could not be done, with so many detections owed to the books.
func (s *service) untended(owed int, err error) {
	if owed == 0 {
		s.logger.Error("what other processes left could not be looked for; that is tried again", "error", err)
		return
	}
	s.logger.Error("what was begun could not be ended; that is tried again", "detections", owed, "error", err)
}

// inherit ends what processes left that are no longer at work.
func (s *service) inherit(ctx context.Context) error {
	if err := s.release(ctx); err != nil {
		return err
	}
	return s.jobs.Recover(ctx)
}

// release gives back the places of detections whose clients wait no longer.
func (s *service) release(ctx context.Context) error {
	n, err := s.ledger.Recover(ctx)
	if n > 0 {
		s.logger.Warn("ended detections whose clients another process left without an answer", "detections", n)
	}
	return err
}
