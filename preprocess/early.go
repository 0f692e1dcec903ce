package preprocess

import (
	"context"
	"fmt"
	"os"
	"sync"

	"deepfaked/internal/sandbox"
)

// Listener is told of windows of sound as soon as they are decoded, which may be
// long before the file is: of those from index from on. It is called in a
// goroutine of its own, and the samples are valid until it returns; ctx ends
// when nobody needs to know any more. Of a window that turns out to be another
// one, or whose decoder is lost, it is told again, after it has returned from the
// first call: the last one holds.
type Listener func(ctx context.Context, from int, windows []Window)

// ear hands windows of one output to a listener, one by one while the file is
// still being decoded, and in the end those that are left. Its methods are
// called by one goroutine at a time.
type ear struct {
	ctx    context.Context //nolint:containedctx // of the calls, ended by close
	cancel context.CancelFunc
	tell   Listener
	req    DecodeRequest
	output *os.File
	calls  sync.WaitGroup

	refs    []WindowRef // of the windows told of so far
	windows []Window
	mapped  [][]byte
}

// newEar listens for tell, which may be nil, to a child that fills output. The
// caller closes it.
func newEar(ctx context.Context, req DecodeRequest, output *os.File, tell Listener) *ear {
	e := &ear{tell: tell, req: req, output: output}
	e.ctx, e.cancel = context.WithCancel(ctx)
	return e
}

// hear takes windows that are final though the output is not: it can't be cut
// short, so that reading them is safe, and a child that changes them later
// deceives nobody but its own file.
func (e *ear) hear(refs []WindowRef) error {
	info, err := e.output.Stat()
	if err != nil {
		return fmt.Errorf("measure the output: %w", err)
	}
	if len(refs) == 0 || len(e.refs)+len(refs) > e.req.Limits.Windows {
		return fmt.Errorf("the child tells of %d windows early", len(e.refs)+len(refs))
	}
	if err := checkWindows(refs, e.req, info.Size()); err != nil {
		return fmt.Errorf("what the child tells early makes no sense: %w", err)
	}
	from := len(e.windows)
	for _, ref := range refs {
		mapped, err := sandbox.Map(e.output, ref.Offset, SampleBytes*ref.Samples)
		if err != nil {
			return err
		}
		e.mapped = append(e.mapped, mapped)
		e.refs, e.windows = append(e.refs, ref), append(e.windows, Window{Samples: samplesOf(mapped, ref.Samples), At: ref.At})
	}
	e.call(from, e.windows[from:len(e.windows):len(e.windows)])
	return nil
}

// keep returns the windows told of that the finished file still has, from the
// first on. Where others have taken their place the listener has come to its
// end with those before it is told of the others.
func (e *ear) keep(refs []WindowRef) []Window {
	n := 0
	for n < min(len(e.refs), len(refs)) && e.refs[n] == refs[n] {
		n++
	}
	if n < len(e.refs) {
		e.calls.Wait()
	}
	return e.windows[:n:n]
}

// call tells of windows, if there are any.
func (e *ear) call(from int, windows []Window) {
	if e.tell != nil && len(windows) > 0 {
		e.calls.Go(func() { e.tell(e.ctx, from, windows) })
	}
}

// close waits for the listener and gives the memory of the windows back.
func (e *ear) close() {
	e.cancel()
	e.calls.Wait()
	for _, m := range e.mapped {
		_ = sandbox.Unmap(m)
	}
	e.mapped = nil
}
