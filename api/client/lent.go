package client

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
)

// lent is a caller's reader while a transport has it. A transport may go on reading
// after the answer has come, in a goroutine of its own that nobody can wait for.
type lent struct {
	r       io.Reader
	reading chan struct{} // holds a token during a Read
	back    atomic.Bool
}

var errTakenBack = errors.New("the answer came before the upload was finished")

func lend(r io.Reader) *lent { return &lent{r: r, reading: make(chan struct{}, 1)} }

// Read reads on until the reader has been taken back.
func (l *lent) Read(p []byte) (int, error) {
	l.reading <- struct{}{}
	defer func() { <-l.reading }()
	if l.back.Load() {
		return 0, errTakenBack
	}
	return l.r.Read(p)
}

// takeBack has no further Read begin, and waits for the one under way, but not
// beyond the end of ctx: it may never return. With none under way the token is there at once,
// whether or not ctx has ended, and orders what was read before what the caller does next.
func (l *lent) takeBack(ctx context.Context) {
	l.back.Store(true)
	select {
	case l.reading <- struct{}{}:
	default:
		select {
		case l.reading <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
	<-l.reading
}
