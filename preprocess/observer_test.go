package preprocess_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"deepfaked/preprocess"
)

// observed is what a pool has told.
type observed struct {
	mu      sync.Mutex
	decoded int
	losses  []preprocess.Loss
}

func (o *observed) Decoded(waited, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if waited >= 0 && took > 0 {
		o.decoded++
	}
}

func (o *observed) Lost(why preprocess.Loss) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.losses = append(o.losses, why)
}

func (o *observed) seen() (decoded int, losses []preprocess.Loss) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.decoded, slices.Clone(o.losses)
}

// check wants one reason for all losses, at most four of them. A file whose
// child took too long gets no second one.
func (o *observed) check(t *testing.T, loss preprocess.Loss) {
	t.Helper()
	decoded, losses := o.seen()
	if decoded < 2 || decoded != len(losses) || len(losses) > 4 {
		t.Errorf("%d files, children lost to %v", decoded, losses)
	}
	for _, got := range losses {
		if got != loss {
			t.Errorf("a child was lost to %s, want %s", got, loss)
		}
	}
}

func TestObserverOfTheHealthyAndTheCanceled(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]struct {
		decoded int
		losses  []preprocess.Loss
	}{
		"look-around": {1, nil},
		"awaits":      {1, []preprocess.Loss{preprocess.LostCanceled}},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			seen := &observed{}
			opts := poolOptions(t, mode)
			opts.Observer = seen
			mark := filepath.Join(t.TempDir(), "mark")
			said := atWork(t, mark)
			opts.Env = append(opts.Env, markVariable+"="+mark)
			pool := newPool(t, opts)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				if said.Scan() { // it has its file
					cancel()
				}
			}()
			data := tinyPNG(t)
			media, err := pool.Decode(ctx, file(t, data), int64(len(data)), "", nil)
			if mode == "awaits" && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if media != nil {
				media.Close()
			}
			decoded, losses := seen.seen()
			if decoded != want.decoded || !slices.Equal(losses, want.losses) {
				t.Errorf("%d files, children lost to %v", decoded, losses)
			}
		})
	}
}
