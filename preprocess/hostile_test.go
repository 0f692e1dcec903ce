package preprocess_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"deepfaked/preprocess"
)

// TestASecondReplyIsNoAnswer: the second of two replies to one file was taken for
// the answer to the next file.
func TestASecondReplyIsNoAnswer(t *testing.T) {
	t.Parallel()
	opts := poolOptions(t, "twice")
	opts.Children = 1
	pool := newPool(t, opts)
	for range 4 {
		media, err := decodeBytes(t, pool, tinyPNG(t), "")
		switch {
		case err != nil: // the second reply came late
			fault(t, err, preprocess.UnsupportedMediaType, "safely")
		case media.Format == "second":
			t.Fatal("the reply to another file is taken")
		}
	}
}

// TestCloseHasABound: Close waited for ever for a child that was dead but kept by
// a process that traces it.
func TestCloseHasABound(t *testing.T) {
	t.Parallel()
	pool := newPool(t, poolOptions(t, "traced"))
	media, err := decodeBytes(t, pool, tinyPNG(t), "")
	if err != nil {
		t.Fatal(err)
	}
	var child, tracer int
	if _, err := fmt.Sscan(media.Format, &child, &tracer); err != nil {
		t.Skip("processes may not trace each other here")
	}
	closed := make(chan struct{})
	go func() { _ = pool.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(2 * time.Minute):
		t.Error("Close still waits")
	}
	if unix.Kill(child, 0) != nil {
		t.Error("the child was not kept")
	}
	_ = unix.Kill(tracer, unix.SIGKILL)
	for unix.Kill(child, 0) == nil { // until it is reaped
		runtime.Gosched()
	}
}
