package main

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference/ort"
	"deepfaked/internal/account"
	"deepfaked/internal/config"
	"deepfaked/internal/sandbox"
)

// Settings are handed on one by one, several of a type in a line: had two of them changed
// places, or one been forgotten, every test went on passing, as all run by the defaults.

func TestSettingsReachTheServer(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Listen, cfg.Proxies = "127.0.0.1:1", []string{"10.0.0.0/8"}
	cfg.Upload = config.Upload{Size: 2, Form: 3, IdleTimeout: 4, MinimumRate: 5, Parallel: 6, ParallelPerAccount: 7, Spool: 8}
	cfg.Anonymous.RequestsPerMinute, cfg.Deadline, cfg.Drain = 9, 10, 11
	opts := serverOptions(cfg)
	assert.Equal(t, "127.0.0.1:1", opts.Listen)
	assert.Equal(t, []string{"10.0.0.0/8"}, opts.TrustedProxies)
	assert.EqualValues(t, 2, opts.FileBytes)
	assert.EqualValues(t, 3, opts.FormBytes)
	assert.EqualValues(t, 4, opts.Pace.Idle)
	assert.EqualValues(t, 5, opts.Pace.Rate)
	assert.Equal(t, 6, opts.Uploads)
	assert.Equal(t, 7, opts.UploadsPerAccount)
	assert.Equal(t, 9, opts.AddressPerMinute)
	assert.EqualValues(t, 10, opts.SyncDeadline)
	assert.EqualValues(t, 11, opts.Drain)
}

func TestSettingsReachTheJobs(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	assert.False(t, jobOptions(cfg).Shared)
	cfg.Jobs = config.Jobs{Workers: 1, Queue: 2, Attempts: 3, Deadline: 4}
	cfg.Uploads, cfg.Adopt = "file:///elsewhere", true
	opts := jobOptions(cfg)
	assert.Equal(t, 1, opts.Workers)
	assert.Equal(t, 2, opts.Queue)
	assert.Equal(t, 3, opts.Attempts)
	assert.EqualValues(t, 4, opts.Deadline)
	assert.True(t, opts.Shared, "others may park uploads there, which must not be taken for left behind")
	assert.True(t, opts.Adopt)
}

func TestSettingsReachTheBooks(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Data, cfg.Database, cfg.KeepUploads, cfg.Upload.Spool = "d", "postgres://h/n", true, 8
	cfg.Plans.Starter.Scans = 3
	assert.Equal(t, "postgres://h/n", storeOptions(cfg).Database)
	assert.Equal(t, cfg.Plans.List(), ledgerOptions(cfg).Plans)
	opts := spoolOptions(cfg)
	assert.Equal(t, filepath.Join("d", "spool"), opts.Dir)
	assert.Equal(t, filepath.Join("d", "uploads"), opts.Kept)
	assert.True(t, opts.Keep)
	assert.Equal(t, account.DetectionPrefix, opts.Names)
	assert.EqualValues(t, 8, opts.Capacity)
}

func TestSettingsReachTheDecoders(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Decoder = config.Decoder{Timeout: 90 * time.Second, Memory: 9 * config.GiB, Confinement: "required"}
	cfg.Limits.Pixels, cfg.Limits.Side, cfg.Limits.Frames, cfg.Upload.Size = 5, 8192, 100, 7*config.MiB
	logger := slog.New(slog.DiscardHandler)
	opts, err := poolOptions(cfg, nil, 3, logger, nil)
	require.NoError(t, err)
	assert.Equal(t, cfg.Limits, opts.Limits)
	assert.Equal(t, 3, opts.Children)
	assert.Equal(t, 90*time.Second, opts.Timeout)
	assert.EqualValues(t, 91, opts.CPUSeconds)
	assert.EqualValues(t, 9*config.GiB, opts.MemoryBytes)
	assert.Equal(t, sandbox.Required, opts.Confinement)
	assert.EqualValues(t, 7*config.MiB, opts.UploadBytes)
	assert.Equal(t, cfg.Limits.OutputBytes(), opts.OutputBytes, "what the limits allow has room")
	assert.Same(t, logger, opts.Logger)
	require.NoError(t, opts.Validate())
	opts, err = poolOptions(config.Default(), nil, 3, logger, nil)
	require.NoError(t, err)
	assert.EqualValues(t, 144<<20, opts.OutputBytes)
}

func TestSettingsReachTheDetector(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Prior, cfg.Inference.Wait, cfg.Inference.Burst = .25, 2*time.Second, 3*time.Second
	opts := detectorOptions(cfg, ort.CPU, 4, 5, nil)
	assert.InDelta(t, .25, opts.Prior, 0)
	assert.Equal(t, 2*time.Second, opts.Wait)
	assert.Equal(t, 3*time.Second, opts.Burst)
	assert.Equal(t, places(ort.CPU, 4, 5), opts.Parallel)
	assert.Equal(t, placesOfFilm(opts.Parallel, 4), opts.Film)
	assert.Equal(t, 2, opts.Side)
	require.NoError(t, opts.Validate())
}

func TestSettingsReachTheRuntime(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Data, cfg.ONNXRuntime, cfg.Provider = "d", "lib.so", "cuda"
	cfg.Inference = config.Inference{Sessions: 1, Threads: 2, Devices: []int{3}, GPUMemory: 8 * config.GiB}
	opts := runtimeOptions(cfg, 4, slog.New(slog.DiscardHandler))
	assert.Equal(t, "lib.so", opts.Library)
	assert.Equal(t, ort.CUDA, opts.Provider)
	assert.Equal(t, 1, opts.Sessions)
	assert.Equal(t, 2, opts.IntraOpThreads)
	assert.Equal(t, []int{3}, opts.Devices)
	assert.EqualValues(t, 2*config.GiB, opts.GPUMemoryLimit, "four models share it")
	assert.Equal(t, filepath.Join("d", "tensorrt"), opts.EngineCache)
}
