package ort

import (
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"deepfaked/models"
)

// loading keeps two Opens apart: the library is one per process.
var loading sync.Mutex

// probe is a graph of one addition. Whether CUDA works is only known once a
// session has been made with it.
//
//go:embed probe.onnx
var probe []byte

// Environment is the loaded library with its sessions. It is safe for
// concurrent use. The caller closes it.
type Environment struct {
	opts     Options
	provider Provider
	library  string
	logger   *slog.Logger
	free     bool // to share the cores out: the options leave it open

	// making is held for reading while a session is made, so that Close can't end the
	// library's environment meanwhile.
	making sync.RWMutex
	alone  sync.Mutex // held while one is made on a GPU, as signals are kept meanwhile
	// declined are the files, by checksum, that TensorRT has not been able to run. alone guards it.
	declined map[string]bool

	mu       sync.Mutex
	closed   bool
	sessions map[*Session]struct{}
}

// Open loads ONNX Runtime and settles the provider. With a GPU asked for it fails
// unless a session runs on each device; with Auto it logs what it chose and why.
// The error wraps ErrNoLibrary when there is no library and ErrOpen when the
// process has an environment already.
func Open(opts Options) (*Environment, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	library, err := FindLibrary(opts.Library, opts.Provider)
	if err != nil {
		return nil, err
	}
	if err := load(library); err != nil {
		return nil, err
	}
	e := &Environment{library: library, logger: opts.Logger, declined: map[string]bool{}, sessions: map[*Session]struct{}{}}
	if e.provider, err = e.choose(opts); err != nil {
		return nil, errors.Join(err, ort.DestroyEnvironment())
	}
	e.opts = opts.shared(e.provider, Cores())
	e.free = e.provider == CPU && opts.Sessions == 0 && opts.IntraOpThreads == 0
	e.logger.Info("ONNX Runtime loaded", "version", ort.GetVersion(), "library", library,
		"provider", e.provider, "devices", e.opts.Devices, "sessions", e.opts.Sessions, "intra_op_threads", e.opts.IntraOpThreads)
	return e, nil
}

// silence keeps ONNX Runtime from reporting to Microsoft, as it does by default since 1.31: it
// gave the machine an identifier and looked for a host outside. The variable is that of
// microsoft/onnxruntime#27379, and is read when the library is loaded.
func silence() error {
	if err := os.Setenv("ORT_DISABLE_TELEMETRY", "1"); err != nil {
		return fmt.Errorf("turn ONNX Runtime's telemetry off: %w", err)
	}
	return nil
}

// load initialises the process-wide library.
func load(library string) error {
	loading.Lock()
	defer loading.Unlock()
	if ort.IsInitialized() {
		return ErrOpen
	}
	if err := silence(); err != nil {
		return err
	}
	stay(library)
	ort.SetSharedLibraryPath(library)
	if err := ort.InitializeEnvironment(ort.WithLogLevelError()); err != nil {
		return fmt.Errorf("%s can't be used as ONNX Runtime (1.%d or later is needed): %w", library, minor, err)
	}
	if err := checkVersion(ort.GetVersion()); err != nil {
		return errors.Join(err, ort.DestroyEnvironment())
	}
	return nil
}

// choose settles Auto, and proves a GPU before anything relies on it.
func (e *Environment) choose(opts Options) (Provider, error) {
	wanted := opts.Provider
	switch wanted {
	case CPU:
		return CPU, nil
	case Auto:
		wanted = CUDA
	}
	err := try(wanted, opts.shared(wanted, Cores()))
	switch {
	case err == nil:
		return wanted, nil
	case opts.Provider == wanted:
		return "", fmt.Errorf("provider %s was asked for and does not work with %s"+
			" (scripts/setup --gpu installs the GPU build): %w", wanted, e.library, err)
	}
	e.logger.Info("provider auto chose cpu, CUDA does not work here", "reason", err)
	return CPU, nil
}

// try makes a session on each device and drops it.
func try(provider Provider, opts Options) error {
	for _, device := range opts.Devices {
		err := keepSignals(func() error { return tryDevice(provider, opts, device) })
		if err != nil {
			return fmt.Errorf("device %d: %w", device, err)
		}
	}
	return nil
}

func tryDevice(provider Provider, opts Options, device int) error {
	so, err := sessionOptions(placement{provider: provider, device: device}, opts)
	if err != nil {
		return err
	}
	defer so.Destroy() //nolint:errcheck // never fails
	session, err := ort.NewDynamicAdvancedSessionWithONNXData(probe, []string{"x"}, []string{"y"}, so)
	if err != nil {
		return err
	}
	return session.Destroy()
}

// Provider says where sessions run: CPU, CUDA or TensorRT.
func (e *Environment) Provider() Provider { return e.provider }

// Library is the path of the loaded shared library.
func (e *Environment) Library() string { return e.library }

// Sessions is how many NewSessions makes on each device.
func (e *Environment) Sessions() int { return e.settings().Sessions }

// Threads is how many intra-op threads each session has.
func (e *Environment) Threads() int { return e.settings().IntraOpThreads }

// NewSessions makes as many sessions of model as the options, or Share, share the
// cores into, on each device; the first of every model is on the same device, and
// so on. The caller closes them; closing the environment does so too.
func (e *Environment) NewSessions(model *models.Model, maxBatch int) ([]*Session, error) {
	opts := e.settings()
	return e.several(model, maxBatch, opts.Sessions*len(opts.Devices), opts)
}

// NewSession makes one session of model, on the first device, for batches of up
// to maxBatch rows and runs every warmed size once. It returns a *GraphError when
// the graph is not the one the card describes. The caller closes it.
func (e *Environment) NewSession(model *models.Model, maxBatch int) (*Session, error) {
	made, err := e.several(model, maxBatch, 1, e.settings())
	if err != nil {
		return nil, err
	}
	return made[0], nil
}

func (e *Environment) settings() Options {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.opts
}

// several makes n sessions, on one device after the other, and on a CPU side by side, as
// long as there are cores for their threads.
func (e *Environment) several(model *models.Model, maxBatch, n int, opts Options) ([]*Session, error) {
	if err := e.check(model); err != nil {
		return nil, err
	}
	abreast := 1
	if e.provider == CPU {
		abreast = max(Cores()/max(opts.IntraOpThreads, 1), 1)
	}
	made, errs := make([]*Session, n), make([]error, n)
	places := make(chan struct{}, abreast)
	var all sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			made[i], errs[i] = e.one(model, maxBatch, opts.Devices[i%len(opts.Devices)], opts)
			<-places
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil { // the others say the same
			return nil, errors.Join(err, closeAll(made))
		}
	}
	return made, nil
}

// check compares the graph with the card, for all sessions of a model.
func (e *Environment) check(model *models.Model) error {
	e.making.RLock()
	defer e.making.RUnlock()
	if e.isClosed() {
		return ErrClosed
	}
	return checkGraph(model)
}

func (e *Environment) one(model *models.Model, maxBatch, device int, opts Options) (*Session, error) {
	e.making.RLock()
	defer e.making.RUnlock()
	if e.isClosed() {
		return nil, ErrClosed
	}
	s, err := e.build(model, maxBatch, device, opts)
	if err != nil {
		return nil, err
	}
	s.forget = e.forget
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions[s] = struct{}{}
	return s, nil
}

func (e *Environment) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// build makes a session and warms it up, which starts a GPU's libraries.
func (e *Environment) build(model *models.Model, maxBatch, device int, opts Options) (*Session, error) {
	if !e.provider.gpu() {
		return newSession(model, maxBatch, placementOn(e.provider, device), opts)
	}
	e.alone.Lock()
	defer e.alone.Unlock()
	return e.onGPU(model, device, func(at placement) (s *Session, err error) {
		err = keepSignals(func() (err error) {
			s, err = newSession(model, maxBatch, at, opts)
			return err
		})
		if err != nil && s != nil {
			s.destroy()
		}
		return s, err
	})
}

// onGPU has make put a session of model there: a graph that TensorRT can't build on CUDA, also
// all further ones, as finding that out may take as long as building. alone is held.
func (e *Environment) onGPU(model *models.Model, device int, make func(placement) (*Session, error)) (*Session, error) {
	if e.provider != TensorRT || e.declined[model.Card.SHA256] {
		return make(placementOn(CUDA, device))
	}
	s, err := make(placementOn(TensorRT, device))
	if err == nil {
		return s, nil
	}
	s, other := make(placementOn(CUDA, device))
	if other != nil {
		return nil, errors.Join(err, other)
	}
	e.declined[model.Card.SHA256] = true
	e.logger.Warn("TensorRT can't run a model, which CUDA runs in its place", "model", model.Card.Name, "reason", err)
	return s, nil
}

func (e *Environment) forget(s *Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, s)
}

// Close closes the sessions that are still open, waiting for their runs, and
// ends the library's environment. It is idempotent.
func (e *Environment) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.mu.Unlock()
	e.making.Lock() // from here on none is made
	defer e.making.Unlock()
	e.mu.Lock()
	open := make([]*Session, 0, len(e.sessions))
	for s := range e.sessions {
		open = append(open, s)
	}
	e.mu.Unlock()

	var errs []error
	for _, s := range open {
		errs = append(errs, s.Close())
	}
	loading.Lock()
	defer loading.Unlock()
	return errors.Join(append(errs, ort.DestroyEnvironment())...)
}
