package ort

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
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

// TestWhatTensorRTCannotRun: the service asked for TensorRT never became ready, since that can't
// build the face detector, which cuts its input to what a picture fills; and each session of it
// would have tried anew, for a minute and a half.
func TestWhatTensorRTCannotRun(t *testing.T) {
	t.Parallel()
	finder := &models.Model{Card: models.Card{Name: "finder", SHA256: "f"}}
	picture := &models.Model{Card: models.Card{Name: "picture", SHA256: "p"}}
	var tried []placement
	make := func(broken ...Provider) func(placement) (*Session, error) {
		return func(at placement) (*Session, error) {
			tried = append(tried, at)
			if slices.Contains(broken, at.provider) {
				return nil, errors.New(string(at.provider))
			}
			return &Session{device: at.device}, nil
		}
	}
	var log bytes.Buffer
	e := &Environment{provider: TensorRT, logger: slog.New(slog.NewTextHandler(&log, nil)), declined: map[string]bool{}}
	for _, broken := range [][]Provider{{TensorRT}, nil} {
		if s, err := e.onGPU(finder, 1, make(broken...)); err != nil || s.device != 1 {
			t.Errorf("the finder: %v, %v", s, err)
		}
	}
	if _, err := e.onGPU(picture, 0, make()); err != nil {
		t.Error(err)
	}
	if _, err := e.onGPU(picture, 0, make(TensorRT, CUDA)); err == nil || err.Error() != "tensorrt\ncuda" {
		t.Errorf("neither: %v", err)
	}
	e.provider = CUDA
	if _, err := e.onGPU(picture, 0, make(CUDA)); err == nil || err.Error() != "cuda" {
		t.Errorf("CUDA: %v", err)
	}
	want := []placement{
		{provider: TensorRT, device: 1}, {provider: CUDA, device: 1, apart: true}, {provider: CUDA, device: 1, apart: true},
		{provider: TensorRT}, {provider: TensorRT}, {provider: CUDA, apart: true}, {provider: CUDA, apart: true},
	}
	if !reflect.DeepEqual(tried, want) {
		t.Errorf("tried %+v, want %+v", tried, want)
	}
	if got := strings.Count(log.String(), "CUDA runs in its place"); got != 1 {
		t.Errorf("said %d times:\n%s", got, &log)
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
