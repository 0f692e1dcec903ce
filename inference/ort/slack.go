package ort

/*
#include <sys/prctl.h>

// While a run keeps a thread for longer than 20 µs, Go's monitor looks every 20 µs whether
// somebody else needs that thread's place, and the kernel makes 70 of that, as it may put a timer
// off by 50. Threads inherit what it may put off, and this runs before Go starts any.
__attribute__((constructor)) static void slacken(void) { prctl(PR_SET_TIMERSLACK, 1000000UL); }
*/
import "C"
