package ort

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

typedef int (*device_fn)(int);
typedef int (*lock_fn)(void *, size_t, unsigned);
typedef int (*unlock_fn)(void *);
typedef int (*error_fn)(void);

// portable: for every device of the process (cudaHostRegisterPortable).
enum { portable = 1 };

// forget takes back the error that the runtime keeps for whoever asks next, which would
// be ONNX Runtime.
static int forget(void *runtime, int error) {
	error_fn last = (error_fn)dlsym(runtime, "cudaGetLastError");
	if (error != 0 && last != NULL)
		last();
	return error;
}

// resident is the handle of a library if the process has loaded it.
static void *resident(const char *name) { return dlopen(name, RTLD_NOW | RTLD_NOLOAD); }

// Both ask on the device that reads, as the runtime would start the first one otherwise.
static int lock(void *runtime, int device, void *memory, size_t bytes) {
	device_fn use = (device_fn)dlsym(runtime, "cudaSetDevice");
	lock_fn host_register = (lock_fn)dlsym(runtime, "cudaHostRegister");
	if (use == NULL || host_register == NULL)
		return -1;
	int error = use(device);
	if (error == 0)
		error = host_register(memory, bytes, portable);
	return forget(runtime, error);
}

static int unlock(void *runtime, int device, void *memory) {
	device_fn use = (device_fn)dlsym(runtime, "cudaSetDevice");
	unlock_fn host_unregister = (unlock_fn)dlsym(runtime, "cudaHostUnregister");
	if (use == NULL || host_unregister == NULL)
		return -1;
	int error = use(device);
	if (error == 0)
		error = host_unregister(memory);
	return forget(runtime, error);
}

static void release(void *runtime) { dlclose(runtime); }
*/
import "C"

import (
	"sync"
	"unsafe"
)

// cudaRuntimes are the CUDA runtimes that a GPU build of ONNX Runtime loads.
var cudaRuntimes = []string{"libcudart.so.13", "libcudart.so.12"}

// pageLock keeps memory in place for GPUs to read it by themselves: what is not locked
// CUDA has the processor copy first, at a fraction of the bus's speed.
type pageLock struct {
	runtime unsafe.Pointer
	device  int
	memory  []byte
}

// stuck is memory that could not be unlocked. It is kept for good: others must not get it, as a
// device may still read it.
var stuck sync.Map

// lockPages locks memory, which must stay where it is until unlock. Where there is no CUDA
// runtime, or it refuses, nothing is locked, and the memory is only slower: nil is returned.
func lockPages(device int, memory []byte) *pageLock {
	if len(memory) == 0 {
		return nil
	}
	for _, name := range cudaRuntimes {
		cname := C.CString(name)
		runtime := C.resident(cname)
		C.free(unsafe.Pointer(cname))
		if runtime == nil {
			continue
		}
		at := unsafe.Pointer(&memory[0])
		if C.lock(runtime, C.int(device), at, C.size_t(len(memory))) == 0 {
			return &pageLock{runtime: runtime, device: device, memory: memory}
		}
		C.release(runtime)
	}
	return nil
}

// unlock gives the memory back; nil may be unlocked.
func (p *pageLock) unlock() {
	if p == nil {
		return
	}
	if C.unlock(p.runtime, C.int(p.device), unsafe.Pointer(&p.memory[0])) != 0 {
		stuck.Store(p, p.memory)
	}
	C.release(p.runtime)
}
