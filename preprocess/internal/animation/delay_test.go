package animation

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// TestShortDelays: frames of up to 10 ms, which browsers show for 100, counted for next to
// nothing beside longer ones, so that what people saw for a third of the time was not judged.
func TestShortDelays(t *testing.T) {
	t.Parallel()
	webp, err := os.ReadFile("../../decode/testdata/animated-lossy.webp")
	if err != nil {
		t.Fatal(err)
	}
	for delay, shown := range map[byte]time.Duration{0: 100, 1: 100, 10: 100, 11: 11, 20: 20} {
		moved, drawn := bytes.Clone(webp), smallPNG(2, 2)
		copy(moved[bytes.Index(moved, []byte("ANMF"))+8+12:], []byte{delay, 0, 0})
		control := drawn[bytes.Index(drawn, []byte("fcTL"))+4:]
		copy(control[20:], []byte{0, delay, 1000 >> 8, 1000 & 0xff})
		for format, take := range map[string]func() (*Animation, error){
			"WebP": func() (*Animation, error) { return WebP(moved) },
			"PNG":  func() (*Animation, error) { return PNG(drawn) },
		} {
			a, err := take()
			if err != nil || a.Frames[0].Delay != shown*time.Millisecond {
				t.Errorf("%s, %d ms: %+v, %v", format, delay, a, err)
			}
		}
	}
	hundredth := threeFrames(t)
	hundredth[bytes.Index(hundredth, []byte{0x21, 0xf9})+4] = 1
	if a, err := GIF(hundredth); err != nil || a.Frames[0].Delay != 100*time.Millisecond {
		t.Errorf("GIF: %+v, %v", a, err)
	}
}
