package preprocess

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"deepfaked/internal/sandbox"
)

// errNotServed means that a child was dead, or unfit, before it got the file.
var errNotServed = errors.New("the child took no file")

// worker is a ready child. It serves one caller at a time.
type worker struct {
	*sandbox.Child

	opts     PoolOptions
	used     time.Duration // processor time, before the file
	returned chan bool     // healthy or not, to the keeper, once per file; of capacity 1
}

// serve decodes one file and gives the worker back to its keeper. A child that
// fails in any way is not used again. The error is a *lostError if another child
// may do better.
func (w *worker) serve(ctx context.Context, req DecodeRequest, source *os.File, e *ear) (*DecodeReply, error) {
	healthy := false
	defer func() { w.returned <- healthy }()
	stop := context.AfterFunc(ctx, w.Kill)
	reply, err := w.ask(req, source, e)
	spared := stop() // else it is being killed, though the reply may have come first
	if err == nil && (reply.Leaving || !spared) {
		w.opts.lost(leaving(reply))
	}
	switch {
	case err == nil && reply.Leaving && reply.Code == "":
		return nil, w.lost(req, errors.New("the child gives up: "+said(reply.Cause)))
	case err == nil:
		healthy = spared && !reply.Leaving
		return reply, nil
	case errors.Is(err, errNotServed):
		w.opts.lost(LostIdle)
		return nil, err
	}
	late, before := errors.Is(err, os.ErrDeadlineExceeded), err
	starved := late && w.starved() // asked while it lives
	err = w.end(err)
	w.opts.lost(w.cause(ctx, before))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	lost := w.lost(req, err)
	switch {
	case starved:
		return nil, fmt.Errorf("decoder: %w, with too little of the processor", err)
	case late:
		return nil, unsafeFile(req.Format, err)
	}
	return nil, lost
}

// starved says that the child, whose time is up, had so little of the processor
// that this is no verdict on the file: a throttled container or a machine that was
// suspended may be to blame.
func (w *worker) starved() bool {
	now, err := w.CPUTime()
	return err == nil && now-w.used < time.Duration(w.opts.CPUShare*float64(w.opts.Timeout))
}

// ask sends the file, waits for the reply, and checks it while the child can
// still be held to it.
func (w *worker) ask(req DecodeRequest, source *os.File, e *ear) (*DecodeReply, error) {
	req.ID = rand.Text()
	message, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	if w.Pending() {
		w.opts.Logger.Warn("a decoder child hung up or spoke without being asked", "pid", w.Pid())
		return nil, errNotServed
	}
	w.ResetStderr()
	if err := w.AllowCPU(time.Duration(w.opts.CPUSeconds) * time.Second); err != nil { //nolint:gosec // small
		return nil, errNotServed
	}
	w.used, err = w.CPUTime()
	if err != nil {
		return nil, errNotServed
	}
	_ = w.SetDeadline(time.Now().Add(w.opts.Timeout)) // wall clock: the operating system's business
	if err := w.Send(message, source, e.output); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotServed, err)
	}
	reply, err := w.receive(req.ID)
	for err == nil && reply.Early {
		if err = e.hear(reply.Windows); err == nil {
			reply, err = w.receive(req.ID)
		}
	}
	if err == nil && req.sound {
		err = reply.refusal(req.Format)
	}
	if err != nil || reply.failed() {
		return reply, err
	}
	return reply, reply.settle(req, e.output)
}

// receive reads the reply to the request of that id; the greeting has none.
func (w *worker) receive(id string) (*DecodeReply, error) {
	message, files, err := w.Receive()
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		sandbox.CloseAll(files)
		return nil, errors.New("the child sent descriptors")
	}
	return parseReply(message, id)
}

// The bounds of the wait for a child's end: for one that hung up, to say why,
// and for one that was killed.
const (
	lastWords = time.Second
	burial    = 5 * time.Second
)

// end kills the child, waits for its end within bounds, and says how it ended
// after err.
func (w *worker) end(err error) error {
	if errors.Is(err, io.EOF) {
		w.await(lastWords)
	}
	if !w.bury() {
		return fmt.Errorf("the child was killed: %w", err)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("the child took too long and was killed")
	}
	return fmt.Errorf("the child ended: %w: %s (%w)", w.Err(), legible(w.Stderr()), err)
}

// await says whether the child ends in time.
func (w *worker) await(most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-w.Done():
		return true
	case <-timer.C:
		return false
	}
}

// bury kills the child and says whether it has ended. What the kernel does not
// let go holds up the pool's end and the next child no longer than burial.
func (w *worker) bury() bool {
	w.Kill()
	ended := w.await(burial)
	if !ended {
		w.opts.Logger.Error("a decoder child was killed but has not ended", "pid", w.Pid())
	}
	return ended
}
