package preprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"deepfaked/internal/sandbox"
)

// ErrPoolClosed means that the pool has been closed.
var ErrPoolClosed = errors.New("decoder: the pool is closed")

// Pool decodes files in child processes. Children are started ahead, replaced
// in the background when they die or have served enough files, and never
// outlive the pool. It is safe for concurrent use.
type Pool struct {
	opts    PoolOptions
	starter *sandbox.Starter

	idle    chan *worker  // handed from a keeper to a Decode
	lengthy chan struct{} // has one for each lengthy file that has or awaits a child
	broken  chan error    // why no child starts; offered only when none does
	failing atomic.Int64  // keepers that wait before they try again

	ctx    context.Context //nolint:containedctx // the life of the keepers, ended by Close
	cancel context.CancelFunc
	closed sync.Once
	wg     sync.WaitGroup
}

// NewPool starts the children. It returns when the first is ready, or with an
// error that says why it does not start. The caller closes the pool.
func NewPool(opts PoolOptions) (*Pool, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	starter, err := sandbox.NewStarter(opts.Confinement)
	if err != nil {
		return nil, err
	}
	if missing := starter.Missing(); missing != nil {
		opts.Logger.Warn("decoders run with the file system open to them (SECURITY.md says what that means)", "error", missing)
	}
	p := &Pool{opts: opts, starter: starter, idle: make(chan *worker), broken: make(chan error)}
	p.lengthy = make(chan struct{}, opts.Children)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	first, err := p.start()
	if err != nil {
		p.cancel()
		starter.Close()
		return nil, err
	}
	for range opts.processes() {
		k := keeper{pool: p, next: first}
		first = nil
		p.wg.Go(k.run)
	}
	return p, nil
}

// Close kills the children and waits until they are gone, for some seconds at
// most. Decodes under way return ErrPoolClosed; media that they have returned
// stays valid. It is idempotent.
func (p *Pool) Close() error {
	p.closed.Do(func() {
		p.cancel()
		p.wg.Wait()
		p.starter.Close()
	})
	return nil
}

// Inspect says without decoding what is wrong with the beginning of a file of size bytes:
// that it is of no known format, not of the declared kind, or of more pixels than may be.
// The error is an *Error, which Decode would return too, unless the file can't be read.
func (p *Pool) Inspect(f io.ReaderAt, size int64, declared Kind) error {
	_, err := inspect(f, size, declared, p.opts.Limits)
	return err
}

// Decode turns a file of size bytes into frames and windows. declared is what
// the client says it is, or empty. f is read from its beginning, may have no
// name, and stays open; its offset is neither used nor moved. The caller closes
// the media. What is wrong with the file is a *Error; when ctx ends, its error
// is returned and the work is stopped. It matches ErrOutputFull when the output
// is too small for the limits. tell hears of windows before Decode returns; it
// has returned itself when there is an error. It may be nil.
func (p *Pool) Decode(ctx context.Context, f *os.File, size int64, declared Kind, tell Listener) (*Media, error) {
	req, err := p.request(f, size, declared)
	if err != nil {
		return nil, err
	}
	return p.decode(ctx, f, req, declared, tell)
}

// Try has a file decoded that is known to be sound. A child that refuses it has been taken over by one that was
// not: it is replaced, and another is tried. The error is that of Decode.
func (p *Pool) Try(ctx context.Context, f *os.File, size int64) error {
	req, err := p.request(f, size, "")
	if err != nil {
		return err
	}
	req.sound = true
	media, err := p.decode(ctx, f, req, "", nil)
	if err == nil {
		media.Close()
	}
	return err
}

// request is what a child is sent with the file, unless that is refused unseen.
func (p *Pool) request(f *os.File, size int64, declared Kind) (DecodeRequest, error) {
	if err := complete(f, size); err != nil {
		return DecodeRequest{}, err
	}
	format, err := inspect(f, size, declared, p.opts.Limits)
	return DecodeRequest{Format: format, Size: size, Output: p.opts.OutputBytes, Limits: p.opts.Limits}, err
}

// decode has a file decoded by one child, or by a second one if the first is lost.
func (p *Pool) decode(ctx context.Context, f *os.File, req DecodeRequest, declared Kind, tell Listener) (*Media, error) {
	media, err := p.attempt(ctx, f, req, declared, tell)
	if lost, ok := errors.AsType[*lostError](err); ok {
		media, err = p.attempt(ctx, f, req, declared, tell)
		err = lost.again(req.Format, err)
	}
	if fault := (*Error)(nil); errors.As(err, &fault) {
		if broken := readable(f, req.Size); broken != nil {
			return nil, broken
		}
	}
	return media, err
}

// attempt decodes the file, from its beginning into memory of its own. The error
// matches *lostError if that cost a child.
func (p *Pool) attempt(ctx context.Context, f *os.File, req DecodeRequest, declared Kind, tell Listener) (media *Media, err error) {
	source, err := sandbox.ReadOnly(f)
	if err != nil {
		return nil, err
	}
	defer func() { _ = source.Close() }()
	output, err := sandbox.NewMemory("decoded")
	if err != nil {
		return nil, err
	}
	defer func() { _ = output.Close() }()
	e := newEar(ctx, req, output, tell)
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	reply, err := p.exchange(ctx, req, source, e)
	if err != nil {
		return nil, err
	}
	return open(reply, req, declared, output, e)
}

// exchange has one child work on the file. A child that was already dead when
// the file was to be handed over is not the file's fault: another gets it.
func (p *Pool) exchange(ctx context.Context, req DecodeRequest, source *os.File, e *ear) (*DecodeReply, error) {
	began := time.Now()
	if lengthy(source, req) {
		release, err := p.hold(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	for {
		w, err := p.worker(ctx)
		if err != nil {
			return nil, err
		}
		got := time.Now()
		reply, err := w.serve(ctx, req, source, e)
		if errors.Is(err, errNotServed) {
			continue
		}
		p.decoded(began, got)
		if err != nil && p.ctx.Err() != nil {
			err = ErrPoolClosed
		}
		return reply, err
	}
}

// worker waits for an idle child.
func (p *Pool) worker(ctx context.Context) (*worker, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case w := <-p.idle:
		return w, nil
	case err := <-p.broken:
		return nil, fmt.Errorf("decoder: no child starts: %w", err)
	case <-p.ctx.Done():
		return nil, ErrPoolClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// start starts a child and waits for its greeting.
func (p *Pool) start() (*worker, error) {
	child, err := p.starter.Start(p.opts.sandbox())
	if err != nil {
		return nil, err
	}
	w := &worker{Child: child, opts: p.opts, returned: make(chan bool, 1)}
	stop := context.AfterFunc(p.ctx, child.Kill)
	defer stop()
	_ = child.SetDeadline(time.Now().Add(p.opts.Start))
	_, err = w.receive("")
	if err == nil {
		err = child.Sacrifice()
	}
	if err != nil {
		return nil, fmt.Errorf("decoder: a child did not start: %w", w.end(err))
	}
	return w, nil
}
