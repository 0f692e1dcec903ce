package ort

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

static void stay(const char *path) { dlopen(path, RTLD_NOW | RTLD_NODELETE); }
*/
import "C"

import "unsafe"

// stay keeps a library where it is until the process ends. ONNX Runtime's CUDA provider, which
// is never unloaded, remembers where ONNX Runtime was: opened for a second time elsewhere,
// that ended the process. What can't be loaded at all, whoever loads it next will say.
func stay(path string) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	C.stay(name)
}
