package decode

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"deepfaked/internal/sandbox"
	"deepfaked/preprocess"
)

// TestALongSoundIsWrittenOnce: all of half an hour is cut into windows that overlap. Each written for itself they were
// 225 MB, of which a file may have 128.
func TestALongSoundIsWrittenOnce(t *testing.T) {
	t.Parallel()
	l := preprocess.DefaultLimits()
	s := sound{limit: l.Duration}
	block := make([]float32, soundPiece)
	for n := 0; n < 1800*soundRate; n += len(block) {
		for i := range block {
			block[i] = float32((n+i)*7919%60_000-30_000) / fullScale
		}
		if err := s.Write(block[:min(len(block), 1800*soundRate-n)]); err != nil {
			t.Fatal(err)
		}
	}
	arena := newTestArena(t, preprocess.SampleBytes*int64(1800*soundRate+2*l.Samples))
	if err := s.Windows(arena, l); err != nil {
		t.Fatal(err)
	}
	windows := arena.Windows()
	if len(windows) != 878 || windows[0].At != 0 || windows[877].At != soundTime(1796*soundRate) {
		t.Fatalf("%d windows, the last at %v", len(windows), windows[len(windows)-1].At)
	}
	for _, i := range []int{0, 1, 439, 876, 877} {
		from := int(windows[i].At / (time.Second / soundRate))
		for j, x := range window(t, arena, i) {
			if want := float32((from+j)*7919%60_000-30_000) / fullScale; x != want {
				t.Fatalf("window %d, sample %d is %v, want %v", i, j, x, want)
			}
		}
	}
}

// TestEveryThreeSecondsFillAWindow: of any three seconds of a long sound some window holds at least two and a half.
func TestEveryThreeSecondsFillAWindow(t *testing.T) {
	t.Parallel()
	l := preprocess.DefaultLimits()
	for _, n := range []int{18 * soundRate, 61*soundRate + 17, 600 * soundRate, 1800 * soundRate} {
		starts := windowStarts(n, l)
		for at := 0; at+3*soundRate <= n; at += soundRate / 7 {
			held := 0
			for _, start := range starts {
				held = max(held, min(at+3*soundRate, start+l.Samples)-max(at, start))
			}
			if held < 39_600 {
				t.Fatalf("of three seconds from sample %d of %d on, no window holds more than %d samples", at, n, held)
			}
		}
	}
}

// TestAReplyTellsOfAllWindows: a child's reply is one message, which bounds how many windows it can tell of.
func TestAReplyTellsOfAllWindows(t *testing.T) {
	t.Parallel()
	l := preprocess.DefaultLimits()
	l.Windows = 1001
	if l.Validate() == nil {
		t.Error("1001 windows pass")
	}
	l.Windows = 1000
	if err := l.Validate(); err != nil {
		t.Error(err)
	}
	last := preprocess.WindowRef{Offset: 999_999_999_999, Samples: l.Samples, At: 99_999 * time.Second}
	reply := preprocess.DecodeReply{Windows: slices.Repeat([]preprocess.WindowRef{last}, l.Windows)}
	reply.Frames = slices.Repeat([]preprocess.FrameRef{{Offset: last.Offset, Width: 1280, Height: 1280, At: last.At}}, l.Frames)
	if message, err := json.Marshal(reply); err != nil || len(message) > sandbox.MessageBytes {
		t.Errorf("a reply of %d bytes: %v", len(message), err)
	}
}
