package ort

import (
	"strconv"

	ort "github.com/yalue/onnxruntime_go"
)

// appendCUDA asks for the CUDA provider. The heuristic search spares seconds of
// trying convolutions for each batch size, and the arena grows by what is asked
// for instead of doubling.
func appendCUDA(so *ort.SessionOptions, opts Options) error {
	cuda, err := ort.NewCUDAProviderOptions()
	if err != nil {
		return err
	}
	defer cuda.Destroy() //nolint:errcheck // fails only when it was not initialised
	settings := map[string]string{
		"device_id":              strconv.Itoa(opts.DeviceID),
		"cudnn_conv_algo_search": "HEURISTIC",
		"arena_extend_strategy":  "kSameAsRequested",
	}
	if opts.GPUMemoryLimit > 0 {
		settings["gpu_mem_limit"] = strconv.FormatInt(opts.GPUMemoryLimit, 10)
	}
	if err := cuda.Update(settings); err != nil {
		return err
	}
	return so.AppendExecutionProviderCUDA(cuda)
}
