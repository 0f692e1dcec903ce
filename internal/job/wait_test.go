package job

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"deepfaked/internal/spool"
	"deepfaked/preprocess"
)

// TestWhatIsTriedAgain: an upload that can't be had for now costs no attempt and is looked for
// ever more rarely, down to once a minute; a verdict that came too late is not tried again.
func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	waited := func(times int) *river.Job[detection] {
		return &river.Job[detection]{JobRow: &rivertype.JobRow{Metadata: fmt.Appendf(nil, `{"snoozes":%d}`, times)}}
	}
	for _, err := range []error{spool.ErrAway, spool.ErrFull} {
		for times, want := range map[int]time.Duration{0: awayFirst, 3: 8 * awayFirst, 6: awayLast, 40: awayLast, 1000: awayLast} {
			if wait, free := waitFor(waited(times), fmt.Errorf("fetch: %w", err)); !free || wait != want {
				t.Errorf("%v, after %d waits: waits %v, free %v; want %v", err, times, wait, free, want)
			}
		}
	}
	for _, err := range []error{spool.ErrLost, spool.ErrDamaged, errors.New("other")} {
		if wait, free := waitFor(waited(0), err); free {
			t.Errorf("%v costs no attempt and waits %v", err, wait)
		}
	}
	for _, err := range []error{ErrTooLate, &preprocess.Error{Code: preprocess.PayloadTooLarge, Message: "it is"}} {
		if !final(fmt.Errorf("judge: %w", err)) {
			t.Errorf("%v is tried again", err)
		}
	}
	if final(errors.New("other")) {
		t.Error("any error ends the job")
	}
}
