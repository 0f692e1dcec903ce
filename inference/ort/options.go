package ort

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
)

// Provider is where models run.
type Provider string

// The providers that can be asked for. An Environment never reports Auto. A GPU
// that was asked for is never replaced by the CPU: Open fails instead.
const (
	Auto     Provider = "auto" // CUDA when it works, else CPU; the choice is logged
	CPU      Provider = "cpu"
	CUDA     Provider = "cuda"
	TensorRT Provider = "tensorrt" // and CUDA for what TensorRT can't run
)

// gpu says whether the provider runs on a GPU.
func (p Provider) gpu() bool { return p == CUDA || p == TensorRT }

// Options say which library is loaded and how its sessions run.
type Options struct {
	Library        string   // path of ONNX Runtime's shared library; empty: looked for, see FindLibrary
	Provider       Provider // Auto, CPU, CUDA or TensorRT
	Sessions       int      // per model, on each device; 0: on CPU cores divided by IntraOpThreads, or chosen by Share, until then a quarter of the cores; 2 on a GPU
	IntraOpThreads int      // per session; 0: cores divided by Sessions on CPU; 1 on a GPU
	Devices        []int    // ids of the GPUs; none: the first
	GPUMemoryLimit int64    // bytes of a GPU's memory for all sessions of a model there; 0: no limit
	EngineCache    string   // folder in which TensorRT keeps what it has built; empty: it builds at every start
	Logger         *slog.Logger
}

// DefaultOptions choose the provider and share the cores out.
func DefaultOptions() Options { return Options{Provider: Auto, Logger: slog.Default()} }

// Validate names the first field that makes no sense.
func (o Options) Validate() error {
	switch {
	case o.Provider != Auto && o.Provider != CPU && !o.Provider.gpu():
		return fmt.Errorf("ort: provider is %q, it must be auto, cpu, cuda or tensorrt", o.Provider)
	case o.Sessions < 0 || o.Sessions > 1024:
		return errors.New("ort: sessions must be between 0 (chosen) and 1024")
	case o.IntraOpThreads < 0 || o.IntraOpThreads > 1024:
		return errors.New("ort: intra-op threads must be between 0 (chosen) and 1024")
	case slices.ContainsFunc(o.Devices, func(id int) bool { return id < 0 }):
		return errors.New("ort: device ids must not be negative")
	case o.GPUMemoryLimit < 0:
		return errors.New("ort: GPU memory limit must not be negative")
	case o.Logger == nil:
		return errors.New("ort: logger must be set")
	}
	return nil
}

// onGPU is how many sessions of a model share a GPU: the rows of one are written and copied
// there while it computes for the other.
const onGPU = 2

// shared fills Sessions and IntraOpThreads in for a provider and a number of
// cores, so that sessions times threads is the number of cores, and leaves each session its
// part of a GPU's memory. Where neither is given a quarter of the cores keeps sessions at four
// threads, beyond which small networks gain little from more.
func (o Options) shared(provider Provider, cores int) Options {
	if o.Sessions == 0 {
		o.Sessions = onGPU
		if provider == CPU {
			o.Sessions = max(1, cores/cmp.Or(o.IntraOpThreads, 4))
		}
	}
	if o.IntraOpThreads == 0 {
		o.IntraOpThreads = 1
		if provider == CPU {
			o.IntraOpThreads = max(1, cores/o.Sessions)
		}
	}
	o.GPUMemoryLimit /= int64(o.Sessions)
	if len(o.Devices) == 0 || !provider.gpu() {
		o.Devices = []int{0}
	}
	return o
}

// Cores is what the process may use, container limits included, as found at its
// start.
func Cores() int { return atStart }

// Later GOMAXPROCS may stand for more than cores: a run occupies one of Go's turns.
var atStart = runtime.GOMAXPROCS(0)
