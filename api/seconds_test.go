package api

import (
	"testing"
	"time"
)

// Whoever waits for as many whole seconds as it was told has waited for long enough.
func TestSeconds(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]int{
		-1: 1, 1: 1, time.Millisecond: 1, time.Second: 1, time.Second + 1: 2, time.Minute: 60, 59*time.Second + 1: 60,
	} {
		if got := seconds(wait); got != want {
			t.Errorf("%v: got %d, want %d", wait, got, want)
		}
	}
}
