package ort

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// At half load Go's monitor woke up 37 times for each small picture, for .7 of its 18 ms of
// processor time: all threads, and so the monitor, are to inherit a slack of a millisecond.
func TestTimersMayBeLate(t *testing.T) {
	t.Parallel()
	got := make(chan int)
	go func() {
		runtime.LockOSThread()
		slack, _ := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		got <- slack
	}()
	if slack := time.Duration(<-got); slack != time.Millisecond {
		t.Errorf("timers may be late by %v, want 1ms", slack)
	}
}
