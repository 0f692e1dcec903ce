package decode

import (
	"testing"
	"time"
)

// TestSoundTimes: times go on by the samples but for gaps, and never back.
func TestSoundTimes(t *testing.T) {
	t.Parallel()
	var times soundTimes
	if got := times.of(soundRate); got != time.Second {
		t.Errorf("without times a sample is heard at %v", got)
	}
	const second = soundRate
	for n, at := range []time.Duration{5 * time.Second, 6*time.Second + soundGap/2, 9 * time.Second, time.Second, time.Hour, 12 * time.Second} {
		times.note(n*second, at, time.Minute)
	}
	for n, want := range map[int]float64{0: 0, 1: 1, 2: 4, 3: 5, 4: 6, 5: 7, 7: 9} {
		if got := times.of(n * second); got.Seconds() != want {
			t.Errorf("sample %d is heard at %v, want %v s", n*second, got, want)
		}
	}
	times = soundTimes{}
	times.note(second, 3*time.Second, time.Minute) // what is before has no times
	if got := times.of(2 * second); got != 2*time.Second {
		t.Errorf("got %v", got)
	}
}
