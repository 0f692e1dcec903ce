package ort

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	ort "github.com/yalue/onnxruntime_go"

	"deepfaked/models"
)

// placement is where a session runs.
type placement struct {
	provider Provider
	device   int
	profile  map[string]string // TensorRT's range of input shapes; may be nil
	half     bool              // whether the graph is in half precision, which TensorRT calculates in only if told to
	tf32     bool              // whether factors may lose all but ten bits, which CUDA does unless told not to
	apart    bool              // whether each batch size has a session of its own
}

// placementOn is where sessions run on one device of a provider. CUDA's convolutions plan anew whenever a
// run's shape is not that of the one before (Conv::UpdateState in ONNX Runtime), which may
// take longer than the run.
func placementOn(provider Provider, device int) placement {
	return placement{provider: provider, device: device, apart: provider == CUDA}
}

// sizes are the batch sizes of a session there.
func (p placement) sizes(maxBatch int) []int {
	if p.provider.gpu() {
		return gpuSizes(maxBatch)
	}
	return sizes(maxBatch)
}

// limitOf is the part of a session's memory that the batch size at place i may take where
// each has a session of its own: half goes to all alike, for weights and libraries, and
// half by their rows.
func limitOf(limit int64, sizes []int, i int) int64 {
	rows := 0
	for _, size := range sizes {
		rows += size
	}
	return limit/2/int64(len(sizes)) + limit/2/int64(rows)*int64(sizes[i])
}

// profileOf has TensorRT build one engine for all batch sizes of a model: it would
// build another, for minutes, whenever a batch is larger than all before it.
func profileOf(card models.Card, maxBatch int) map[string]string {
	shape := func(rows int) string {
		sides := []string{strconv.Itoa(rows)}
		for _, side := range card.Input.Shape[1:] {
			sides = append(sides, strconv.FormatInt(side, 10))
		}
		return card.Input.Name + ":" + strings.Join(sides, "x")
	}
	return map[string]string{
		"trt_profile_min_shapes": shape(1),
		"trt_profile_opt_shapes": shape(maxBatch),
		"trt_profile_max_shapes": shape(maxBatch),
	}
}

// gpuOptions are what ONNX Runtime's documentation calls provider options, of one
// kind.
type gpuOptions interface {
	Update(settings map[string]string) error
	Destroy() error
}

// appendGPU asks for the providers of a placement, the preferred one first.
func appendGPU(so *ort.SessionOptions, at placement, opts Options) error {
	if at.provider == TensorRT {
		rt, err := ort.NewTensorRTProviderOptions()
		if err == nil {
			err = appendProvider(rt, tensorRTSettings(at, opts), func() error { return so.AppendExecutionProviderTensorRT(rt) })
		}
		if err != nil {
			return fmt.Errorf("TensorRT: %w", err)
		}
	}
	cuda, err := ort.NewCUDAProviderOptions()
	if err == nil {
		err = appendProvider(cuda, cudaSettings(at, opts), func() error { return so.AppendExecutionProviderCUDA(cuda) })
	}
	if err != nil {
		return fmt.Errorf("CUDA: %w", err)
	}
	return nil
}

func appendProvider(o gpuOptions, settings map[string]string, add func() error) error {
	defer o.Destroy() //nolint:errcheck // fails only when it was not initialised
	if err := o.Update(settings); err != nil {
		return err
	}
	return add()
}

// cudaSettings: the heuristic search spares seconds of trying convolutions for
// each batch size, the arena grows by what is asked for instead of doubling, and full
// precision is what a card's self-test was made in.
func cudaSettings(at placement, opts Options) map[string]string {
	settings := map[string]string{
		"device_id":              strconv.Itoa(at.device),
		"cudnn_conv_algo_search": "HEURISTIC",
		"arena_extend_strategy":  "kSameAsRequested",
		"use_tf32":               "0",
	}
	if at.tf32 {
		settings["use_tf32"] = "1"
	}
	if opts.GPUMemoryLimit > 0 {
		settings["gpu_mem_limit"] = strconv.FormatInt(opts.GPUMemoryLimit, 10)
	}
	return settings
}

// tensorRTSettings keep engines, and what was learnt in building them, for the
// next start. Precision is that of the graph: the cards' figures were measured
// with it.
func tensorRTSettings(at placement, opts Options) map[string]string {
	settings := map[string]string{"device_id": strconv.Itoa(at.device)}
	if opts.GPUMemoryLimit > 0 {
		settings["trt_max_workspace_size"] = strconv.FormatInt(opts.GPUMemoryLimit, 10)
	}
	if opts.EngineCache != "" {
		settings["trt_engine_cache_enable"], settings["trt_engine_cache_path"] = "1", opts.EngineCache
		settings["trt_timing_cache_enable"], settings["trt_timing_cache_path"] = "1", opts.EngineCache
	}
	if at.half {
		settings["trt_fp16_enable"] = "1"
	}
	maps.Copy(settings, at.profile)
	return settings
}
