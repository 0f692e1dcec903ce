//go:build gocv_specific_modules

package decode

/*
#cgo LDFLAGS: -lstdc++
#include <stddef.h>

// std::set_new_handler.
extern void *setNewHandler(void (*handler)(void)) __asm__("_ZSt15set_new_handlerPFvvE");

static int newFailed; // of the process: handlers are, and a child has one file at a time

// failNew is called by operator new where there is no memory, and once it has taken itself back, operator new throws.
static void failNew(void) {
	__atomic_store_n(&newFailed, 1, __ATOMIC_RELAXED);
	setNewHandler(NULL);
}

static void watchNew(void) {
	__atomic_store_n(&newFailed, 0, __ATOMIC_RELAXED);
	setNewHandler(failNew);
}

static int hasNewFailed(void) {
	return __atomic_load_n(&newFailed, __ATOMIC_RELAXED);
}
*/
import "C"

// watchNew has operator new of C++ tell that it found no memory, which OpenCV keeps to itself where it decodes a
// picture: it says that there is nothing, as of one that is damaged.
func watchNew() (failed func() bool) {
	C.watchNew()
	return func() bool { return C.hasNewFailed() != 0 }
}
