package api_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"deepfaked/inference"
	"deepfaked/internal/job"
	"deepfaked/internal/spool"
)

// An answer that nothing was counted, because the service had failed, cost one of the
// day's submissions. A file that can't be judged costs one, and so does leaving.
func TestFailuresOfTheServiceAreNotTheDays(t *testing.T) {
	t.Parallel()
	plans := widePlans()
	plans[0].Daily = 3
	var fails atomic.Pointer[error]
	started := make(chan struct{})
	s := setup(t, config{plans: plans, detect: func(ctx context.Context, r inference.Request) (inference.Result, error) {
		if err := fails.Load(); err != nil {
			return inference.Result{}, *err
		}
		close(started)
		<-ctx.Done()
		return inference.Result{}, ctx.Err()
	}})
	key := s.key("free")
	fail := func(err error, status int, code string) {
		t.Helper()
		fails.Store(&err)
		s.detect(key, photo()).want(status, code)
	}
	for _, err := range []error{errors.New("the decoder is lost"), context.DeadlineExceeded, spool.ErrFull} {
		fail(err, 500, "internal_error")
	}
	fail(job.ErrClosed, 503, "internal_error")
	for range 4 { // which have waited in vain
		fail(&inference.SaturatedError{RetryAfter: time.Second}, 429, "rate_limited")
	}
	fail(notMedia, 415, "unsupported_media_type")
	fail(notMedia, 415, "unsupported_media_type")
	if t.Failed() {
		return // nothing would begin any more
	}
	fails.Store(nil)
	u := s.begin(key, photo())
	u.write(len(u.body))
	<-started
	must(t, u.conn.Close())
	s.untilNothingRuns()
	fail(notMedia, 429, "rate_limited")
}

// untilNothingRuns returns once no synchronous analysis is in the books.
func (s *service) untilNothingRuns() {
	s.t.Helper()
	for left := 1; left > 0; {
		must(s.t, s.books.Reader().QueryRow(`SELECT count(*) FROM detections WHERE state = 'processing'`).Scan(&left))
	}
}
