package preprocess_test

import (
	"slices"
	"testing"
	"time"

	"deepfaked/preprocess"
)

// TestAChildThatWorksWithoutAFileIsReplaced: a decoder that a file had taken over kept a core busy once it had answered, for up
// to 69 hours, the processor time of its whole life: files have a limit, and it had none.
func TestAChildThatWorksWithoutAFileIsReplaced(t *testing.T) {
	t.Parallel()
	seen := &observed{}
	opts := poolOptions(t, "spins-idle")
	opts.Children, opts.Observer = 1, seen
	if _, err := decodeBytes(t, newPool(t, opts), tinyPNG(t), ""); err != nil {
		t.Fatal(err)
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	_, losses := seen.seen()
	for ; len(losses) == 0; _, losses = seen.seen() { // which the test's time limit bounds
		<-ticker.C
	}
	if !slices.Equal(losses, []preprocess.Loss{preprocess.LostIdle}) {
		t.Errorf("children lost to %v", losses)
	}
}
