package preprocess_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deepfaked/preprocess"
)

// TestAChildThatRefusesASoundFileIsReplaced: a decoder that a file had taken over, and that refused the picture of the
// service's self-test, was taken for a healthy one and asked again each time: for as long as it lived the service
// said of itself that it could judge nothing.
func TestAChildThatRefusesASoundFileIsReplaced(t *testing.T) {
	t.Parallel()
	for mode, lost := range map[string]int{"refuses-then-well": 1, "refuses": 2, "look-around": 0} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			seen := &observed{}
			opts := poolOptions(t, mode)
			opts.Children, opts.Observer = 1, seen
			opts.Env = append(opts.Env, markVariable+"="+filepath.Join(t.TempDir(), "mark"))
			pool, data := newPool(t, opts), tinyPNG(t)
			err := pool.Try(t.Context(), file(t, data), int64(len(data)))
			if (err != nil) != (mode == "refuses") || err != nil && !strings.Contains(err.Error(), "refuses a sound file") {
				t.Error(err)
			}
			if _, losses := seen.seen(); !slices.Equal(losses, slices.Repeat([]preprocess.Loss{preprocess.LostReply}, lost)) {
				t.Errorf("children lost to %v, want %d", losses, lost)
			}
		})
	}
}

// What clients send may well be refused, by the same child again and again.
func TestAChildThatRefusesAFileIsKept(t *testing.T) {
	t.Parallel()
	seen := &observed{}
	opts := poolOptions(t, "refuses")
	opts.Children, opts.Observer = 1, seen
	pool := newPool(t, opts)
	for range 3 {
		_, err := decodeBytes(t, pool, tinyPNG(t), "")
		fault(t, err, preprocess.UnsupportedMediaType, "No.")
	}
	if _, losses := seen.seen(); len(losses) > 0 {
		t.Errorf("children lost to %v", losses)
	}
}
