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

// TestOneWrongTimeDoesNotMakeASoundTooLong: a single packet far ahead, within the limit, had all that follows it
// end beyond the limit, and the file was refused.
func TestOneWrongTimeDoesNotMakeASoundTooLong(t *testing.T) {
	t.Parallel()
	s := sound{limit: time.Minute}
	for n := range 30 {
		at := time.Duration(n) * time.Second
		if n == 10 {
			at = 50 * time.Second
		}
		s.times.note(n*soundRate, at, s.limit)
		if err := s.Write(make([]float32, soundRate)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Duration(); got != 30*time.Second {
		t.Errorf("it lasts %v", got)
	}
	if err := s.Write(make([]float32, 32*soundRate)); err == nil {
		t.Error("a sound beyond the limit was taken")
	}
}
