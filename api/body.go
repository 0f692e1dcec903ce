package api

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Errors of reading a body. They are the client's, and errors.go words them.
var (
	errBodyTooLarge = errors.New("the request body is over the limit")
	errBodySlow     = errors.New("the request body came too slowly")
)

// finishBytes is how much of an unread body is read before an early answer, so
// that the connection can serve another request; more is not worth it.
const finishBytes = 256 << 10

// Pace says how slowly a client may send and how much of what nobody wants is
// still read.
type Pace struct {
	Idle        time.Duration // longest wait for any bytes
	Grace       time.Duration // before Rate is asked for
	Rate        int64         // bytes a second that must arrive on average; 0: any
	LingerTime  time.Duration // reading on after an early answer, at most
	LingerIdle  time.Duration // longest wait for any bytes meanwhile
	LingerBytes int64         // read on after an early answer, at most
}

// Validate names the first field that makes no sense.
func (p Pace) Validate() error {
	switch {
	case p.Idle <= 0:
		return errors.New("pace: idle must be positive")
	case p.Grace <= 0:
		return errors.New("pace: grace must be positive")
	case p.Rate < 0:
		return errors.New("pace: rate must not be negative")
	case p.LingerTime <= 0:
		return errors.New("pace: linger time must be positive")
	case p.LingerIdle <= 0:
		return errors.New("pace: linger idle must be positive")
	case p.LingerBytes < 0:
		return errors.New("pace: linger bytes must not be negative")
	}
	return nil
}

// body reads a request's body with a deadline on every read: a client that
// stalls or trickles gets errBodySlow. It is used by one goroutine.
type body struct {
	src     io.Reader
	conn    *http.ResponseController
	pace    Pace
	length  int64           // declared; -1 when unknown
	expects bool            // the client waits for 100 Continue
	gone    <-chan struct{} // closed when the client has left
	start   time.Time
	read    int64
	limit   int64 // errBodyTooLarge beyond; negative: none
	ended   bool  // read to its end
	err     error
}

func newBody(r *http.Request, w http.ResponseWriter, pace Pace) *body {
	return &body{
		src: r.Body, conn: http.NewResponseController(w), pace: pace, limit: -1,
		length: r.ContentLength, expects: r.Header.Get("Expect") != "",
		gone:  r.Context().Done(),
		ended: r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0,
	}
}

// Read implements io.Reader. Once it has failed it fails in the same way.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.ended {
		return 0, io.EOF
	}
	n, err := b.next(p)
	if b.limit >= 0 && b.read > b.limit {
		n, err = max(0, n-int(b.read-b.limit)), errBodyTooLarge
	}
	b.err = err
	return n, err
}

// next reads once, and lifts the deadline again at the end: net/http goes on
// reading to notice a client that leaves, and a passed deadline would look
// like one.
func (b *body) next(p []byte) (int, error) {
	if b.start.IsZero() {
		b.start = time.Now()
	}
	if err := b.conn.SetReadDeadline(b.deadline(time.Now())); err != nil {
		return 0, err
	}
	n, err := b.src.Read(p)
	b.read += int64(n)
	switch {
	case err == io.EOF:
		b.ended = true
		if clear := b.conn.SetReadDeadline(time.Time{}); clear != nil {
			return n, clear
		}
	case isTimeout(err):
		return n, errBodySlow
	}
	return n, err
}

// deadline is the earlier of the idle limit and the moment at which the
// average would fall below the rate.
func (b *body) deadline(now time.Time) time.Time {
	idle := now.Add(b.pace.Idle)
	if b.pace.Rate == 0 {
		return idle
	}
	earned := time.Duration(float64(b.read) / float64(b.pace.Rate) * float64(time.Second))
	if slow := b.start.Add(b.pace.Grace + earned); slow.Before(idle) {
		return slow
	}
	return idle
}

// brokenOff says that reading ended neither with the body nor by our limits.
func (b *body) brokenOff() bool {
	return b.err != nil && !errors.Is(b.err, io.EOF) && !errors.Is(b.err, errBodySlow) && !errors.Is(b.err, errBodyTooLarge)
}

// touched says that reading on can't hang on a client that waits for leave to
// send: either it doesn't wait, or some of the body has been asked for, or has come.
func (b *body) touched() bool { return !b.expects || !b.start.IsZero() || b.read > 0 }

// finish reads what little is left of a body, so that the connection need not
// be closed after an answer that came early. It reports whether the body ended.
func (b *body) finish() bool {
	left := b.length - b.read
	if b.ended || b.length < 0 || left > finishBytes || !b.touched() || errors.Is(b.err, errBodySlow) {
		return b.ended
	}
	b.discard(finishBytes, min(time.Second, b.pace.LingerTime))
	return b.ended
}

// unasked is how long is waited for a body that was not asked for. The client need not
// wait to be asked, but most do, and won't send any of it after the answer.
const unasked = time.Second

// linger reads on after an answer that came early, within bounds: a client that
// sends everything before it reads would otherwise lose the answer to a reset.
func (b *body) linger() {
	if !b.touched() {
		b.discard(0, min(unasked, b.pace.LingerTime))
	}
	if !b.ended && b.touched() && !errors.Is(b.err, errBodySlow) {
		b.discard(b.pace.LingerBytes, b.lingering())
	}
	if !b.ended {
		// net/http would read a little more of it, without a deadline.
		_ = b.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// lingering is for how long it reads on. Where more is left than it would read, a client that
// sends everything first has no answer in any case, and one that listens has it by now.
func (b *body) lingering() time.Duration {
	if b.length-b.read > b.pace.LingerBytes {
		return min(b.pace.LingerIdle, b.pace.LingerTime)
	}
	return b.pace.LingerTime
}

// discard reads up to n bytes within d, as long as any come, and sees that the end is noticed.
func (b *body) discard(n int64, d time.Duration) {
	got, err := io.CopyN(io.Discard, &unwanted{b, time.Now().Add(d)}, n+1)
	b.read += got
	if errors.Is(err, io.EOF) {
		b.ended = b.conn.SetReadDeadline(time.Time{}) == nil
	}
}

// unwanted is what a client still sends of a body, until a moment.
type unwanted struct {
	*body
	until time.Time
}

// Read implements io.Reader.
func (u *unwanted) Read(p []byte) (int, error) {
	next := time.Now().Add(u.pace.LingerIdle)
	if next.After(u.until) {
		next = u.until
	}
	if err := u.conn.SetReadDeadline(next); err != nil {
		return 0, err
	}
	select {
	case <-u.gone: // which has passed the deadline, perhaps just before it was set
		return 0, io.ErrUnexpectedEOF
	default:
		return u.src.Read(p)
	}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
