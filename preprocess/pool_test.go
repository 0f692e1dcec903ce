package preprocess_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"deepfaked/internal/sandbox"
	"deepfaked/preprocess"
)

// poolOptions starts this test binary as a child that behaves as mode says.
func poolOptions(t testing.TB, mode string) preprocess.PoolOptions {
	t.Helper()
	opts := preprocess.DefaultPoolOptions()
	opts.Command = []string{sandbox.Self}
	opts.Env = append(opts.Env, childMode+"="+mode)
	opts.Logger = slog.New(slog.DiscardHandler)
	opts.Timeout, opts.Start, opts.CPUSeconds = 10*time.Minute, 5*time.Minute, 600 // for processors that are slow or busy
	if mode != "decode" {
		opts.Confinement = sandbox.Off // to misbehave, it needs all of the system
	}
	if raceDetector {
		opts.MemoryBytes = 1 << 46 // it reserves that much
	}
	return opts
}

// newPool is a pool that is closed with the test.
func newPool(t testing.TB, opts preprocess.PoolOptions) *preprocess.Pool {
	t.Helper()
	pool, err := preprocess.NewPool(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

// file is data without a name, as uploads are.
func file(t testing.TB, data []byte) *os.File {
	t.Helper()
	f, err := os.OpenFile(t.TempDir(), unix.O_TMPFILE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	return f
}

// decodeBytes decodes data through the pool.
func decodeBytes(t testing.TB, pool *preprocess.Pool, data []byte, kind preprocess.Kind) (*preprocess.Media, error) {
	t.Helper()
	media, err := pool.Decode(t.Context(), file(t, data), int64(len(data)), kind, nil)
	if media != nil {
		t.Cleanup(media.Close)
	}
	return media, err
}

// fault asserts that err is the client's, with that code and those words.
func fault(t testing.TB, err error, code preprocess.Code, words string) {
	t.Helper()
	var e *preprocess.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want %s", err, code)
	}
	if e.Code != code || !strings.Contains(e.Message, words) {
		t.Fatalf("got %s %q (%v), want %s with %q", e.Code, e.Message, e.Err, code, words)
	}
	if !strings.HasSuffix(e.Message, ".") {
		t.Fatalf("%q is not a sentence", e.Message)
	}
}

func TestChildrenThatFailCostOneRequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode  string
		cause string
		loss  preprocess.Loss
		tune  func(*preprocess.PoolOptions)
	}{
		{mode: "crash", cause: "about to crash", loss: preprocess.LostCrash},
		{mode: "killed-large", cause: "killed", loss: preprocess.LostKilled},
		{mode: "floods", cause: "written too much", loss: preprocess.LostCrash},
		{mode: "spin", cause: "too long", loss: preprocess.LostTimeout, tune: func(o *preprocess.PoolOptions) { o.Timeout, o.CPUShare = time.Second, 1e-6 }},
		{mode: "spin", cause: "processor time", loss: preprocess.LostCPU, tune: func(o *preprocess.PoolOptions) { o.CPUSeconds = 1 }},
		{mode: "hoard", cause: "no memory", loss: preprocess.LostMemory, tune: nil},
		{mode: "lacks-memory", cause: "gives up: native libraries", loss: preprocess.LostMemory},
		{mode: "overflow", cause: "output is", loss: preprocess.LostReply, tune: nil},
		{mode: "no-output", cause: "makes no sense", loss: preprocess.LostReply},
		{mode: "keeps-mapping", cause: "freeze", loss: preprocess.LostReply},
		{mode: "garbage", cause: "reply", loss: preprocess.LostReply},
	} {
		t.Run(test.mode, func(t *testing.T) {
			t.Parallel()
			if raceDetector && (test.mode == "hoard" || test.mode == "killed-large") {
				t.Skip("memory cannot be bounded under the race detector")
			}
			opts := poolOptions(t, test.mode)
			if test.tune != nil {
				test.tune(&opts)
			}
			seen := &observed{}
			opts.Observer = seen
			pool := newPool(t, opts)
			defer seen.check(t, test.loss)
			for range 2 { // the second finds a new child
				_, err := decodeBytes(t, pool, tinyPNG(t), "")
				fault(t, err, preprocess.UnsupportedMediaType, "could not be decoded safely")
				if e := new(preprocess.Error); !errors.As(err, &e) || !strings.Contains(e.Err.Error(), test.cause) {
					t.Fatalf("the cause is %v, want %q in it", e.Err, test.cause)
				}
			}
		})
	}
}

func TestChildSeesNothing(t *testing.T) {
	t.Parallel()
	leaked, err := os.Create(filepath.Join(t.TempDir(), "leaked"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = leaked.Close() }()
	fd, err := unix.Dup(int(leaked.Fd())) // stays open across exec
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	opts := poolOptions(t, "look-around")
	media, err := decodeBytes(t, newPool(t, opts), tinyPNG(t), "")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("0 leaked, %d variables", len(opts.Env)+1); media.Format != want {
		t.Fatalf("the child sees %s, want %s", media.Format, want)
	}
}

func TestChildCannotWriteTheUpload(t *testing.T) {
	t.Parallel()
	if _, err := decodeBytes(t, newPool(t, poolOptions(t, "write-media")), tinyPNG(t), ""); err != nil {
		t.Fatal(err)
	}
}

func TestNewPoolSaysWhyNoChildStarts(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"missing-library": "libopencv_core", "silent": "too long"} {
		opts := poolOptions(t, mode)
		if mode == "silent" {
			opts.Start = 200 * time.Millisecond
		}
		_, err := preprocess.NewPool(opts)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", mode, err, want)
		}
	}
}

// TestDecodeSaysWhyNoChildStarts: the first child starts and crashes, the others
// do not start. That is not the file's fault, and nobody waits for ever.
func TestDecodeSaysWhyNoChildStarts(t *testing.T) {
	t.Parallel()
	opts := poolOptions(t, "once")
	opts.Children = 1
	opts.Env = append(opts.Env, markVariable+"="+filepath.Join(t.TempDir(), "mark"))
	pool := newPool(t, opts)
	_, err := decodeBytes(t, pool, tinyPNG(t), "")
	if e := new(preprocess.Error); err == nil || errors.As(err, &e) || !strings.Contains(err.Error(), "libopencv_core") {
		t.Fatalf("got %v", err)
	}
}

// TestAnInnocentFileIsDecodedAfterAll: a file whose child died, of whatever it
// was, was refused for good as one that can't be decoded safely.
func TestAnInnocentFileIsDecodedAfterAll(t *testing.T) {
	t.Parallel()
	opts := poolOptions(t, "unlucky")
	opts.Children = 1
	opts.Env = append(opts.Env, markVariable+"="+filepath.Join(t.TempDir(), "mark"))
	pool := newPool(t, opts)
	if _, err := decodeBytes(t, pool, tinyPNG(t), ""); err != nil {
		t.Fatal(err)
	}
}

// TestAStarvedChildIsNotTheFilesFault: a container that was throttled or paused for
// a minute had its files refused for good as such that can't be decoded safely.
func TestAStarvedChildIsNotTheFilesFault(t *testing.T) {
	t.Parallel()
	opts := poolOptions(t, "stopped")
	opts.Timeout = 200 * time.Millisecond
	seen := &observed{}
	opts.Observer = seen
	_, err := decodeBytes(t, newPool(t, opts), tinyPNG(t), "")
	if e := new(preprocess.Error); errors.As(err, &e) || err == nil || !strings.Contains(err.Error(), "too little of the processor") {
		t.Fatalf("got %v", err)
	}
	if _, losses := seen.seen(); !slices.Equal(losses, []preprocess.Loss{preprocess.LostTimeout}) {
		t.Errorf("children lost to %v", losses)
	}
}

// TestACallerWhoLeavesKillsNoChildOfAnother: whose context ended just when the
// child had answered had it killed, but it had been given to the next by then.
func TestACallerWhoLeavesKillsNoChildOfAnother(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	opts := poolOptions(t, "look-around")
	opts.Children = 1
	opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	pool := newPool(t, opts)
	f, size := file(t, tinyPNG(t)), int64(len(tinyPNG(t)))
	for i := range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(i)*3*time.Microsecond, cancel)
		_, _ = pool.Decode(ctx, f, size, "", nil)
		if _, err := pool.Decode(t.Context(), f, size, "", nil); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	_ = pool.Close()
	if strings.Contains(log.String(), "lost") {
		t.Error(log.String())
	}
}

// descriptors counts those of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestNoDescriptorIsLeft runs before the parallel tests: decodes that succeed,
// crash or are cancelled, and pools that come and go, leave no descriptor.
func TestNoDescriptorIsLeft(t *testing.T) { //nolint:paralleltest // it counts for the whole process
	data := tinyPNG(t)
	f := file(t, data)
	before := 0
	for round := range 4 {
		for _, mode := range []string{"look-around", "crash", "stopped", "garbage"} {
			pool, err := preprocess.NewPool(poolOptions(t, mode))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			if mode == "stopped" {
				time.AfterFunc(20*time.Millisecond, cancel)
			}
			media, err := pool.Decode(ctx, f, int64(len(data)), "", nil)
			if (err == nil) != (mode == "look-around") {
				t.Errorf("%s: %v", mode, err)
			}
			if media != nil {
				media.Close()
			}
			cancel()
			_ = pool.Close()
		}
		if round == 0 {
			before = descriptors(t) // the poller and the like are open now
		}
	}
	if after := descriptors(t); after > before {
		t.Fatalf("%d descriptors became %d", before, after)
	}
}

func TestCancelStopsTheChild(t *testing.T) {
	t.Parallel()
	opts := poolOptions(t, "stopped")
	opts.Children, opts.Timeout = 1, time.Hour
	pool := newPool(t, opts)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	data := tinyPNG(t)
	if _, err := pool.Decode(ctx, file(t, data), int64(len(data)), "", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}

func TestCloseEndsDecodes(t *testing.T) {
	t.Parallel()
	opts := poolOptions(t, "stopped")
	opts.Timeout = time.Hour
	pool := newPool(t, opts)
	data := tinyPNG(t)
	got := make(chan error, 3)
	for range 3 { // more than there are children
		f := file(t, data)
		go func() {
			_, err := pool.Decode(context.Background(), f, int64(len(data)), "", nil)
			got <- err
		}()
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := <-got; !errors.Is(err, preprocess.ErrPoolClosed) {
			t.Fatalf("got %v", err)
		}
	}
	if err := pool.Close(); err != nil {
		t.Fatal("the second Close:", err)
	}
	if _, err := pool.Decode(t.Context(), file(t, data), int64(len(data)), "", nil); !errors.Is(err, preprocess.ErrPoolClosed) {
		t.Fatalf("after Close: %v", err)
	}
}

// TestManyDecodes also counts descriptors, which must not grow; and children are
// recycled on the way.
func TestManyDecodes(t *testing.T) {
	t.Parallel()
	opts := poolOptions(t, "look-around")
	opts.Children, opts.Recycle = 3, 5
	pool := newPool(t, opts)
	data := tinyPNG(t)
	var wg sync.WaitGroup
	for range 32 {
		f := file(t, data)
		wg.Go(func() {
			media, err := pool.Decode(t.Context(), f, int64(len(data)), preprocess.Image, nil)
			if err != nil {
				t.Error(err)
				return
			}
			media.Close()
		})
	}
	wg.Wait()
}

func TestWhatIsRefusedBeforeAChildSeesIt(t *testing.T) {
	t.Parallel()
	pool := newPool(t, poolOptions(t, "crash"))
	for _, test := range []struct {
		name  string
		data  []byte
		kind  preprocess.Kind
		code  preprocess.Code
		words string
	}{
		{"empty", nil, "", preprocess.EmptyFile, "empty"},
		{"text", []byte("hello"), "", preprocess.UnsupportedMediaType, "known image, audio or video format"},
		{"picture declared as sound", tinyPNG(t), preprocess.Audio, preprocess.ContentTypeMismatch, "declared as audio"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := decodeBytes(t, pool, test.data, test.kind)
			fault(t, err, test.code, test.words)
		})
	}
}
