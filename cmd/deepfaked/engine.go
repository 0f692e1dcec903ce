package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"deepfaked/inference"
	"deepfaked/inference/ort"
	"deepfaked/internal/config"
	"deepfaked/internal/metrics"
	"deepfaked/internal/sandbox"
	"deepfaked/models"
	"deepfaked/preprocess"
)

// maxBatch is the largest batch of any model: beyond it a CPU gains nothing, and
// a longer batch makes others wait.
const maxBatch = 8

// engine is everything that judges: decoder children, sessions, scheduler and
// detector.
type engine struct {
	detector  *inference.Detector
	scheduler *inference.Scheduler
	cards     []models.Card
	provider  string
	closers
}

// openEngine starts everything that judges. The caller closes it. watch may be
// nil.
func openEngine(ctx context.Context, cfg config.Config, logger *slog.Logger, watch *metrics.Metrics) (_ *engine, err error) {
	e := &engine{}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	loaded, err := loadModels(cfg)
	if err != nil {
		return nil, err
	}
	environment, err := openRuntime(cfg, len(loaded), logger)
	if err != nil {
		return nil, err
	}
	e.onClose(environment.Close)
	e.scheduler, err = schedule(ctx, environment, loaded, logger, watch)
	if err != nil {
		return nil, err
	}
	e.onClose(func() error { e.scheduler.Close(); return nil })
	pool, err := openPool(cfg, logger, watch)
	if err != nil {
		return nil, err
	}
	e.onClose(pool.Close)
	e.provider = string(environment.Provider())
	for _, m := range loaded {
		e.cards = append(e.cards, m.Card)
	}
	fusion, err := models.BuiltinFusion()
	if err != nil {
		return nil, err
	}
	parts := inference.Parts{Decoder: pool, Scheduler: e.scheduler, Cards: e.cards, Fusion: fusion, Provider: e.provider}
	opts := inference.DefaultDetectorOptions()
	opts.Parallel, opts.Prior = 2*children(cfg), cfg.Prior
	if watch != nil {
		opts.Observer = watch
	}
	opts.Wait, opts.Burst = cfg.Inference.Wait, cfg.Inference.Burst
	e.detector, err = inference.NewDetector(parts, opts)
	return e, err
}

// openRuntime loads ONNX Runtime for sessions of that many models, which share a
// GPU's memory.
func openRuntime(cfg config.Config, models int, logger *slog.Logger) (*ort.Environment, error) {
	opts := ort.DefaultOptions()
	opts.Library, opts.Provider, opts.Logger = cfg.ONNXRuntime, ort.Provider(cfg.Provider), logger
	opts.Sessions, opts.IntraOpThreads = cfg.Inference.Sessions, cfg.Inference.Threads
	opts.GPUMemoryLimit = int64(cfg.Inference.GPUMemory) / int64(models*max(1, cfg.Inference.Sessions))
	opts.Devices, opts.EngineCache = cfg.Inference.Devices, filepath.Join(cfg.Data, "tensorrt")
	if opts.Provider == ort.TensorRT {
		if err := os.MkdirAll(opts.EngineCache, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of TensorRT's engines: %w", err)
		}
	}
	return ort.Open(opts)
}

// schedule makes the sessions, proves each by its card's self-test, and hands
// them to a scheduler.
func schedule(ctx context.Context, env *ort.Environment, loaded []*models.Model, logger *slog.Logger, watch *metrics.Metrics) (*inference.Scheduler, error) {
	var executors []inference.Executor
	warm := map[string][]time.Duration{}
	for _, m := range loaded {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sessions, err := env.NewSessions(m, maxBatch)
		if err != nil {
			return nil, err
		}
		if err := ort.Golden(sessions[0], m.Card); err != nil {
			return nil, err
		}
		for i, s := range sessions {
			if i == len(executors) {
				executors = append(executors, inference.Executor{})
			}
			executors[i][m.Card.Name] = s
		}
		warm[m.Card.Name] = sessions[0].WarmUp()
		logger.Info("model ready", "model", m.Card.Name, "version", m.Card.Version, "task", m.Card.Task)
	}
	opts := inference.DefaultSchedulerOptions()
	if watch != nil {
		opts.Observer = watch
	}
	scheduler, err := inference.NewScheduler(opts, executors)
	if err != nil {
		return nil, err
	}
	for name, took := range warm {
		for i, size := range executors[0][name].(*ort.Session).Sizes() {
			scheduler.Seed(name, size, took[i])
		}
	}
	return scheduler, nil
}

func children(cfg config.Config) int {
	if cfg.Decoder.Children > 0 {
		return cfg.Decoder.Children
	}
	return runtime.GOMAXPROCS(0)
}

func openPool(cfg config.Config, logger *slog.Logger, watch *metrics.Metrics) (*preprocess.Pool, error) {
	opts := preprocess.DefaultPoolOptions()
	opts.Limits, opts.Children, opts.Command = cfg.Limits, children(cfg), []string{sandbox.Self, "decode"}
	opts.Timeout, opts.MemoryBytes, opts.Logger = cfg.Decoder.Timeout, uint64(max(cfg.Decoder.Memory, 0)), logger
	opts.CPUSeconds = uint64(max(cfg.Decoder.Timeout, 0)/time.Second) + 1
	opts.OutputBytes = max(opts.OutputBytes, cfg.Limits.OutputBytes())
	opts.UploadBytes = int64(cfg.Upload.Size)
	if watch != nil {
		opts.Observer = watch
	}
	return preprocess.NewPool(opts)
}
