package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"deepfaked/inference"
	"deepfaked/inference/ort"
	"deepfaked/internal/config"
	"deepfaked/internal/footprint"
	"deepfaked/internal/metrics"
	"deepfaked/internal/policy"
	"deepfaked/internal/sandbox"
	"deepfaked/models"
	"deepfaked/preprocess"
)

// The largest batch of any model: beyond maxBatch a CPU gains nothing, and a longer
// batch makes others wait; a GPU is still idle in part.
const (
	maxBatch = 8
	gpuBatch = 64
)

// largestBatch is that of the models of a service, and so of what proves them.
func largestBatch(on ort.Provider) int {
	if on == ort.CPU {
		return maxBatch
	}
	return gpuBatch
}

// timing is for how long the batches of each model are timed at the start.
const timing = 200 * time.Millisecond

// engine is everything that judges: decoder children, sessions, scheduler and
// detector.
type engine struct {
	detector  *inference.Detector
	scheduler *inference.Scheduler
	decoders  trial
	cards     []models.Card // of what runs: a variant has a card of its own
	inUse     models.InUse  // the same models with their cards in full, for people
	provider  string
	parallel  int // places for files that are judged
	closers
}

// care is what is done for those who stay, beside judging.
type care struct {
	measure bool             // find out first how judging is fastest on this machine
	watch   *metrics.Metrics // may be nil
}

// openEngine starts everything that judges. The caller closes it.
func openEngine(ctx context.Context, cfg config.Config, logger *slog.Logger, take care) (_ *engine, err error) {
	e := &engine{}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	loaded, quality, err := loadModels(cfg, logger)
	if err != nil {
		return nil, err
	}
	environment, err := openRuntime(cfg, len(loaded), logger)
	if err != nil {
		return nil, err
	}
	e.onClose(environment.Close)
	chosen, err := inPrecision(environment, loaded, cfg.Inference.Precision, logger)
	if err != nil {
		return nil, err
	}
	e.scheduler, err = schedule(ctx, environment, chosen, logger, take)
	if err != nil {
		return nil, err
	}
	loaded = toRun(chosen)
	e.onClose(func() error { e.scheduler.Close(); return nil })
	if take.measure && environment.Provider() == ort.CPU {
		preferRuns(logger)
	}
	for _, m := range loaded {
		e.cards = append(e.cards, m.Card)
	}
	e.inUse = models.NewInUse(loaded)
	e.inUse.Quality = quality
	decoders := children(cfg, environment, footprint.MemoryLimit(), logger)
	pool, err := openPool(cfg, e.cards, decoders, logger, take.watch)
	if err != nil {
		return nil, err
	}
	e.onClose(pool.Close)
	e.decoders = pool
	e.provider = string(environment.Provider())
	fusion, err := models.BuiltinFusion(e.cards)
	if err != nil {
		return nil, err
	}
	parts := inference.Parts{Decoder: pool, Scheduler: e.scheduler, Cards: e.cards, Fusion: fusion, Provider: e.provider,
		FixedShapes: environment.Provider() != ort.CPU}
	opts := detectorOptions(cfg, environment.Provider(), decoders, e.scheduler.Executors(), take.watch)
	e.parallel = opts.Parallel
	if e.detector, err = inference.NewDetector(parts, opts); err != nil {
		return nil, err
	}
	e.inUse.Fusion = e.detector.Fusion()
	return e, nil
}

// openRuntime loads ONNX Runtime for sessions of that many models, which share a
// GPU's memory.
func openRuntime(cfg config.Config, models int, logger *slog.Logger) (*ort.Environment, error) {
	opts := runtimeOptions(cfg, models, logger)
	if opts.Provider == ort.TensorRT {
		if err := os.MkdirAll(opts.EngineCache, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of TensorRT's engines: %w", err)
		}
		logger.Info("TensorRT builds an engine for each model that it finds none of, which may take minutes", "engines", opts.EngineCache)
	}
	return ort.Open(opts)
}

func runtimeOptions(cfg config.Config, models int, logger *slog.Logger) ort.Options {
	opts := ort.DefaultOptions()
	opts.Library, opts.Provider, opts.Logger = cfg.ONNXRuntime, ort.Provider(cfg.Provider), logger
	opts.Sessions, opts.IntraOpThreads = cfg.Inference.Sessions, cfg.Inference.Threads
	opts.GPUMemoryLimit = int64(cfg.Inference.GPUMemory) / int64(models)
	opts.Devices, opts.EngineCache = cfg.Inference.Devices, filepath.Join(cfg.Data, "tensorrt")
	return opts
}

func detectorOptions(cfg config.Config, on ort.Provider, decoders, executors int, watch *metrics.Metrics) inference.DetectorOptions {
	opts := inference.DefaultDetectorOptions()
	opts.Parallel = places(on, decoders, executors)
	opts.Film = placesOfFilm(opts.Parallel, decoders)
	opts.Side, opts.Prior = (decoders+1)/2, cfg.Prior // each keeps a decoder busy, and a session or the decoder's further threads
	if watch != nil {
		opts.Observer = watch
	}
	opts.Wait, opts.Burst = cfg.Inference.Wait, cfg.Inference.Burst
	return opts
}

// schedule makes the sessions, proves each by its card's self-test, and hands
// them to a scheduler. What fails and has something to be run in its place is chosen anew.
func schedule(ctx context.Context, env *ort.Environment, chosen []choice, logger *slog.Logger, take care) (*inference.Scheduler, error) {
	if take.measure {
		if err := share(env, chosen, logger); err != nil {
			return nil, err
		}
	}
	var executors []inference.Executor
	times := map[string][]time.Duration{}
	for i := range chosen {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m := &chosen[i]
		sessions, took, err := m.prepare(env, take.measure, logger)
		if err != nil {
			return nil, err
		}
		times[m.Card.Name] = took
		for i, s := range sessions {
			if i == len(executors) {
				executors = append(executors, inference.Executor{})
			}
			executors[i][m.Card.Name] = s
		}
		logger.Info("model ready", "model", m.Card.Name, "version", m.Card.Version, "task", m.Card.Task, "file", m.Card.File)
	}
	widen(len(executors))
	scheduler, err := inference.NewScheduler(queueing(env.Provider(), take), executors)
	if err != nil {
		return nil, err
	}
	for name, took := range times {
		for i := range took {
			scheduler.Seed(name, executors[0][name].Sizes()[i], took[i])
		}
	}
	return scheduler, nil
}

// queueing is how rows wait for the executors. The gate bounds them by the files that it
// lets in; whoever is in has been told so, and must not be sent away because the rows of
// many films are waiting.
func queueing(on ort.Provider, take care) inference.SchedulerOptions {
	opts := inference.DefaultSchedulerOptions()
	opts.LockThreads, opts.QueueRows = on != ort.CPU, math.MaxInt
	if on == ort.CPU {
		opts.Computing = policy.Computing
	}
	if take.watch != nil {
		opts.Observer = take.watch
	}
	return opts
}

// prove has golden test every session of a model on GPUs: what one computes says nothing
// of the others. On a CPU all run on the same processor, and the first stands for them:
// each further one would lengthen the start by an eighth of the time that it takes to
// make (measured on the built-in models).
func prove(on ort.Provider, sessions []*ort.Session, card models.Card, golden func(*ort.Session, models.Card) error) error {
	if on == ort.CPU {
		return golden(sessions[0], card)
	}
	for _, s := range sessions {
		if err := golden(s, card); err != nil {
			return fmt.Errorf("on GPU %d: %w", s.Device(), err)
		}
	}
	return nil
}

// share has the cores shared out as suits the model of pictures, which takes most
// of the time of most files.
func share(env *ort.Environment, chosen []choice, logger *slog.Logger) error {
	i := slices.IndexFunc(chosen, func(c choice) bool { return c.Card.Task == models.ImageSynthesis })
	if i < 0 {
		return nil // the detector will say so
	}
	return chosen[i].try(logger, env.Share)
}

// preferRuns has the kernel favour what takes long: runs, while they compute on the
// processors themselves. Measured on two cores under full load it saves 5 to 14 % of
// the processor time of a file (inference/DESIGN.md). What feeds a GPU should not wait
// for what decodes.
func preferRuns(logger *slog.Logger) {
	if err := errors.Join(policy.Batch(), policy.HugePages()); err != nil {
		logger.Info("the kernel treats this process like any other, which is slower", "error", err)
	}
}

// widen lets Go run something else beside each executor. A run of ONNX Runtime
// occupies one of GOMAXPROCS until the runtime's monitor takes it away, and while
// none is free the monitor wakes up every 20 µs to see to that: measured on two
// cores, with two executors, that was 3,700 wake-ups a second, each of which stops
// one of them, and requests waited for a turn beside them.
func widen(executors int) { runtime.GOMAXPROCS(ort.Cores() + executors) }

// placesEach is how many places for files there are at least for each decoder, and filmsEach
// how many of what may be films they hold, each with the memory of many frames. With fewer
// small pictures and sounds inside, sessions find no rows to share a batch.
const (
	placesEach = 4
	filmsEach  = 2
)

// placesMost is how many there are for each decoder at most: what is let in and waits for a
// decoder waits without turns, and is not refused when it becomes too late.
const placesMost = 16

// places is how many places for files there are. On a GPU that is as many as a batch of each
// executor's holds, of a row each, and as many again, which come together meanwhile.
func places(on ort.Provider, decoders, executors int) int {
	least := placesEach * decoders
	if on == ort.CPU {
		return least
	}
	return max(least, min(2*gpuBatch*executors, placesMost*decoders))
}

// placesOfFilm is how many places of all what may be a film takes.
func placesOfFilm(all, decoders int) int { return all / (filmsEach * decoders) }

// children is how many lengthy files, such as films, are decoded at the same time: one for each
// core that sessions use, of those there are, as far as a limit of memory has room for them. Where they run on a GPU, all
// cores are free to decode.
func children(cfg config.Config, env *ort.Environment, limit int64, logger *slog.Logger) int {
	cores := ort.Cores()
	switch {
	case cfg.Decoder.Children > 0:
		return cfg.Decoder.Children
	case env.Provider() == ort.CPU:
		cores = min(env.Sessions()*env.Threads(), cores)
	}
	fit := within(limit, cores)
	if fit < cores {
		logger.Info("the limit of memory leaves room for fewer decoders than there are cores", "decoders", fit, "cores", cores, "limit", config.Size(limit).String())
	}
	return fit
}

// decoderBytes is the memory that a decoder takes while it is at work on a picture of 64 megapixels, but for
// AVIF and HEIC, of which few come at a time.
const decoderBytes = 180 << 20

// within is how many of so many decoders have their memory, with the one that runs beside them, in three quarters of
// a limit, which leave one to what judges. Where the kernel finds it used up it ends decoders, or the whole container.
func within(limit int64, decoders int) int {
	return int(min(int64(decoders), max(limit/4*3/decoderBytes-1, 1)))
}

// openPool starts decoders of what the models are shown.
func openPool(cfg config.Config, cards []models.Card, decoders int, logger *slog.Logger, watch *metrics.Metrics) (*preprocess.Pool, error) {
	opts, err := poolOptions(cfg, cards, decoders, logger, watch)
	if err != nil {
		return nil, err
	}
	return preprocess.NewPool(opts)
}

func poolOptions(cfg config.Config, cards []models.Card, decoders int, logger *slog.Logger, watch *metrics.Metrics) (preprocess.PoolOptions, error) {
	opts := preprocess.DefaultPoolOptions()
	limits, err := withStretches(cfg.Limits, cards)
	if err != nil {
		return opts, err
	}
	opts.Limits, opts.Children, opts.Command = limits, decoders, []string{sandbox.Self, "decode"}
	opts.Timeout, opts.MemoryBytes, opts.Logger = cfg.Decoder.Timeout, uint64(max(cfg.Decoder.Memory, 0)), logger
	opts.Confinement = sandbox.Confinement(cfg.Decoder.Confinement)
	opts.CPUSeconds = uint64(max(cfg.Decoder.Timeout, 0)/time.Second) + 1
	opts.OutputBytes = max(opts.OutputBytes, limits.OutputBytes())
	opts.UploadBytes = int64(cfg.Upload.Size)
	if watch != nil {
		opts.Observer = watch
	}
	return opts, nil
}
