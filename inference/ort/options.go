package ort

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
)

// Provider is where models run.
type Provider string

// The providers that can be asked for. An Environment reports CPU or CUDA,
// never Auto.
const (
	Auto Provider = "auto" // CUDA when it works, else CPU; the choice is logged
	CPU  Provider = "cpu"
	CUDA Provider = "cuda" // never replaced by CPU: Open fails instead
)

// Options say which library is loaded and how its sessions run.
type Options struct {
	Library        string   // path of ONNX Runtime's shared library; empty: looked for, see FindLibrary
	Provider       Provider // Auto, CPU or CUDA
	Sessions       int      // per model; 0: a quarter of the cores on CPU, at least 1; 1 on CUDA
	IntraOpThreads int      // per session; 0: cores divided by Sessions on CPU; 1 on CUDA
	DeviceID       int      // of the CUDA device
	GPUMemoryLimit int64    // bytes of GPU memory for each session; 0: no limit
	Logger         *slog.Logger
}

// DefaultOptions choose the provider and share the cores out.
func DefaultOptions() Options { return Options{Provider: Auto, Logger: slog.Default()} }

// Validate names the first field that makes no sense.
func (o Options) Validate() error {
	switch {
	case o.Provider != Auto && o.Provider != CPU && o.Provider != CUDA:
		return fmt.Errorf("ort: provider is %q, it must be auto, cpu or cuda", o.Provider)
	case o.Sessions < 0 || o.Sessions > 1024:
		return errors.New("ort: sessions must be between 0 (chosen) and 1024")
	case o.IntraOpThreads < 0 || o.IntraOpThreads > 1024:
		return errors.New("ort: intra-op threads must be between 0 (chosen) and 1024")
	case o.DeviceID < 0:
		return errors.New("ort: device id must not be negative")
	case o.GPUMemoryLimit < 0:
		return errors.New("ort: GPU memory limit must not be negative")
	case o.Logger == nil:
		return errors.New("ort: logger must be set")
	}
	return nil
}

// shared fills Sessions and IntraOpThreads in for a provider and a number of
// cores, so that sessions times threads is the number of cores. A quarter of
// the cores keeps sessions at four threads, beyond which small networks gain
// little from more.
func (o Options) shared(provider Provider, cores int) Options {
	if o.Sessions == 0 {
		o.Sessions = 1
		if provider == CPU {
			o.Sessions = max(1, cores/4)
		}
	}
	if o.IntraOpThreads == 0 {
		o.IntraOpThreads = 1
		if provider == CPU {
			o.IntraOpThreads = max(1, cores/o.Sessions)
		}
	}
	return o
}

// cores is what the process may use, container limits included.
func cores() int { return runtime.GOMAXPROCS(0) }
