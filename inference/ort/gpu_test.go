package ort

import (
	"maps"
	"testing"

	"deepfaked/models"
)

// TestGPUSettings: CUDA took TF32 unless told otherwise, by which the picture model's self-test
// was off by .0011 where .001 is allowed, and no GPU ever became ready.
func TestGPUSettings(t *testing.T) {
	t.Parallel()
	card := models.Card{Input: models.Tensor{Name: "tile", Shape: []int64{-1, 224, 224, 3}}}
	at := placement{provider: TensorRT, device: 1, profile: profileOf(card, 8)}
	half := placement{provider: TensorRT, half: true}
	for name, tc := range map[string]struct{ got, want map[string]string }{
		"CUDA": {cudaSettings(at, Options{}), map[string]string{
			"device_id": "1", "cudnn_conv_algo_search": "HEURISTIC", "arena_extend_strategy": "kSameAsRequested", "use_tf32": "0",
		}},
		"CUDA within a limit": {cudaSettings(at, Options{GPUMemoryLimit: 1 << 30}), map[string]string{
			"device_id": "1", "cudnn_conv_algo_search": "HEURISTIC", "arena_extend_strategy": "kSameAsRequested", "use_tf32": "0",
			"gpu_mem_limit": "1073741824",
		}},
		"CUDA in TF32": {cudaSettings(placement{tf32: true}, Options{}), map[string]string{
			"device_id": "0", "cudnn_conv_algo_search": "HEURISTIC", "arena_extend_strategy": "kSameAsRequested", "use_tf32": "1",
		}},
		"TensorRT builds one engine for all sizes and keeps it": {tensorRTSettings(at, Options{EngineCache: "/cache"}), map[string]string{
			"device_id":               "1",
			"trt_engine_cache_enable": "1", "trt_engine_cache_path": "/cache",
			"trt_timing_cache_enable": "1", "trt_timing_cache_path": "/cache",
			"trt_profile_min_shapes": "tile:1x224x224x3",
			"trt_profile_opt_shapes": "tile:8x224x224x3",
			"trt_profile_max_shapes": "tile:8x224x224x3",
		}},
		"TensorRT calculates in half precision only if told to": {tensorRTSettings(half, Options{}), map[string]string{
			"device_id": "0", "trt_fp16_enable": "1",
		}},
	} {
		if !maps.Equal(tc.got, tc.want) {
			t.Errorf("%s: %v, want %v", name, tc.got, tc.want)
		}
	}
}

// TestDevicesAreThoseAskedFor: on a CPU there is one place to run, whatever GPUs
// are named.
func TestDevicesAreThoseAskedFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		provider Provider
		devices  []int
		want     int
	}{
		"none named": {CUDA, nil, 1},
		"three":      {TensorRT, []int{0, 2, 3}, 3},
		"on a CPU":   {CPU, []int{0, 1}, 1},
	} {
		if got := (Options{Devices: tc.devices}).shared(tc.provider, 8).Devices; len(got) != tc.want {
			t.Errorf("%s: devices %v, want %d", name, got, tc.want)
		}
	}
}
