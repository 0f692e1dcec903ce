package preprocess_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"deepfaked/preprocess"
)

// silence is a WAV file of one channel and 16 bits.
func silence(rate uint32, d time.Duration) []byte {
	n := uint32(d.Seconds()*float64(rate)) * 2
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, 36+n)
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"...)
	b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, rate), 2*rate)
	b = append(b, "\x02\x00\x10\x00data"...)
	return append(binary.LittleEndian.AppendUint32(b, n), make([]byte, n)...)
}

// notes is a listener that writes down what it is told: index and level of each
// window.
type notes struct {
	mu    sync.Mutex
	lines []string
	slow  <-chan struct{} // holds up the first call; nil: nothing does
	once  sync.Once
}

func (n *notes) listen(_ context.Context, from int, windows []preprocess.Window) {
	if n.slow != nil {
		n.once.Do(func() { <-n.slow })
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, w := range windows {
		for _, s := range w.Samples {
			if s != w.Samples[0] {
				n.lines = append(n.lines, "a mixture")
			}
		}
		n.lines = append(n.lines, fmt.Sprintf("%d:%d", from+i, w.Samples[0]))
	}
}

func (n *notes) sorted() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(slices.Values(n.lines))
}

// TestWindowsAreToldOf: each window of a sound once, and with the child's output
// out of its reach.
func TestWindowsAreToldOf(t *testing.T) {
	t.Parallel()
	pool, heard := newPool(t, poolOptions(t, "early-sound")), &notes{}
	data := silence(16_000, time.Second)
	media, err := pool.Decode(t.Context(), file(t, data), int64(len(data)), "", heard.listen)
	if err != nil {
		t.Fatal(err)
	}
	defer media.Close()
	media.Heard()
	if got := heard.sorted(); !slices.Equal(got, []string{"0:0", "1:1", "2:2"}) {
		t.Errorf("the listener was told of %v", got)
	}
	if media.Format != "WAV" {
		t.Errorf("the output was %s by the child while the server read it", media.Format)
	}
	for i, w := range media.Windows {
		if w.Samples[0] != int16(i) {
			t.Errorf("window %d has the level %v", i, w.Samples[0])
		}
	}
}

// TestTheLastWindowToldOfHolds: of one that takes another's place the listener is
// told once it is through with the other, so that it can't take the one for the
// other.
func TestTheLastWindowToldOfHolds(t *testing.T) {
	t.Parallel()
	slow := make(chan struct{})
	pool, heard := newPool(t, poolOptions(t, "early-other")), &notes{slow: slow}
	time.AfterFunc(100*time.Millisecond, func() { close(slow) })
	data := silence(16_000, time.Second)
	media, err := pool.Decode(t.Context(), file(t, data), int64(len(data)), "", heard.listen)
	if err != nil {
		t.Fatal(err)
	}
	defer media.Close()
	media.Heard()
	got := heard.sorted()
	if len(heard.lines) == 0 || heard.lines[len(heard.lines)-1] != "1:9" || !slices.Equal(got, []string{"0:0", "1:1", "1:9"}) {
		t.Errorf("the listener was told of %v", heard.lines)
	}
	if len(media.Windows) != 2 || media.Windows[1].Samples[0] != 9 {
		t.Errorf("%d windows, the last with the level %v", len(media.Windows), media.Windows[1].Samples[0])
	}
}

// TestEarlyLies: a child that has been taken over tells of what is not there.
func TestEarlyLies(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"early-outside", "early-nothing", "early-many", "early-crash"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			pool, heard := newPool(t, poolOptions(t, mode)), &notes{}
			data := silence(16_000, time.Second)
			_, err := pool.Decode(t.Context(), file(t, data), int64(len(data)), "", heard.listen)
			fault(t, err, preprocess.UnsupportedMediaType, "could not be decoded safely")
			if got := heard.sorted(); len(got) == 0 || slices.Contains(got, "a mixture") {
				t.Errorf("the listener was told of %v", got)
			}
		})
	}
}

// TestNobodyListensAfterDecode: the memory of windows goes with a decode that
// failed, so that it waits for the listener, whose context tells it to stop.
func TestNobodyListensAfterDecode(t *testing.T) {
	t.Parallel()
	pool := newPool(t, poolOptions(t, "early-crash"))
	data := silence(16_000, time.Second)
	var began, ended atomic.Int64
	_, err := pool.Decode(t.Context(), file(t, data), int64(len(data)), "", func(ctx context.Context, _ int, w []preprocess.Window) {
		began.Add(1)
		<-ctx.Done()
		if w[0].Samples[0] != 0 {
			t.Error("the samples have gone")
		}
		ended.Add(1)
	})
	fault(t, err, preprocess.UnsupportedMediaType, "could not be decoded safely")
	if began.Load() != 2 || ended.Load() != 2 { // each of two children tells of a window
		t.Errorf("%d calls began and %d ended before Decode", began.Load(), ended.Load())
	}
}
