package api

import (
	"sync"

	"deepfaked/inference"
)

// uploads bounds the bodies that are received at the same time, in all and for
// each account: one key must not be able to keep everybody else out by sending
// slowly. It is safe for concurrent use.
type uploads struct {
	mu    sync.Mutex
	taken int
	by    map[string]int // by account, none of them 0
}

// receiving takes one of account's places, until leave is called once. The
// errors suggest when to come back.
func (s *Server) receiving(account string) (leave func(), err error) {
	u := &s.uploads
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.by[account] >= s.opts.UploadsPerAccount:
		return nil, &problem{code: rateLimited, reason: uploadsAtOnce, retryAfter: s.opts.UploadRetry,
			message: "The account is sending as many files at the same time as it may."}
	case u.taken >= s.opts.Uploads:
		return nil, &inference.SaturatedError{RetryAfter: s.opts.UploadRetry}
	}
	u.taken++
	u.by[account]++
	return func() { u.leave(account) }, nil
}

func (u *uploads) leave(account string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.taken--
	if u.by[account]--; u.by[account] == 0 {
		delete(u.by, account)
	}
}
