package preprocess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"deepfaked/internal/sandbox"
)

// errNotServed means that a child was dead before it got the file.
var errNotServed = errors.New("the child had ended")

// worker is a ready child. It serves one caller at a time.
type worker struct {
	*sandbox.Child

	opts     PoolOptions
	returned chan bool // healthy or not, to the keeper, once per file; of capacity 1
}

// serve decodes one file and gives the worker back to its keeper. A child that
// fails in any way is not used again.
func (w *worker) serve(ctx context.Context, req DecodeRequest, source, output *os.File) (*DecodeReply, error) {
	healthy := false
	defer func() { w.returned <- healthy }()
	reply, err := w.ask(ctx, req, source, output)
	if err == nil {
		healthy = !reply.Leaving
		return reply, nil
	}
	if errors.Is(err, errNotServed) {
		return nil, err
	}
	err = w.end(err)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	w.opts.Logger.Warn("a decoder child was lost", "format", string(req.Format), "bytes", req.Size, "error", err)
	return nil, unsafeFile(req.Format, err)
}

// ask sends the file, waits for the reply, and checks it while the child can
// still be held to it. The child is killed when ctx ends.
func (w *worker) ask(ctx context.Context, req DecodeRequest, source, output *os.File) (*DecodeReply, error) {
	message, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	w.ResetStderr()
	if err := w.AllowCPU(time.Duration(w.opts.CPUSeconds) * time.Second); err != nil { //nolint:gosec // small
		return nil, errNotServed
	}
	stop := context.AfterFunc(ctx, w.Kill)
	defer stop()
	_ = w.SetDeadline(time.Now().Add(w.opts.Timeout)) // wall clock: the operating system's business
	if err := w.Send(message, source, output); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotServed, err)
	}
	reply, err := w.receive()
	if err != nil || reply.Code != "" || reply.Cause != "" {
		return reply, err
	}
	return reply, reply.settle(req, output)
}

// receive reads one reply.
func (w *worker) receive() (*DecodeReply, error) {
	message, files, err := w.Receive()
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		sandbox.CloseAll(files)
		return nil, errors.New("the child sent descriptors")
	}
	reply := new(DecodeReply)
	if err := json.Unmarshal(message, reply); err != nil {
		return nil, fmt.Errorf("decode the child's reply: %w", err)
	}
	return reply, nil
}

// end kills the child, waits for it, and says how it ended after err.
func (w *worker) end(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errors.New("the child took too long and was killed")
		w.Kill()
		<-w.Done()
		return err
	}
	select {
	case <-w.Done(): // by itself
	case <-time.After(time.Second):
		w.Kill()
		<-w.Done()
	}
	return fmt.Errorf("the child ended: %w: %s (%w)", w.Err(), w.Stderr(), err)
}
