package ort

import (
	"runtime"

	ort "github.com/yalue/onnxruntime_go"
	"golang.org/x/sys/cpu"
)

// exactBytes has a session add products of bytes exactly. A processor of amd64 without VNNI adds
// them in 16 bits, which overflow; ONNX Runtime then takes its kernels for weights without a sign,
// which add them in 32. It would take them with VNNI, too, where they are slower and not needed
// (session.x64quantprecision in onnxruntime_session_options_config_keys.h; MlasPlatformU8S8Overflow).
func exactBytes(so *ort.SessionOptions) error {
	if runtime.GOARCH != "amd64" || cpu.X86.HasAVX512VNNI || cpu.X86.HasAVXVNNI {
		return nil
	}
	return so.AddSessionConfigEntry("session.x64quantprecision", "1")
}
