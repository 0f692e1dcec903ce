package inference

import (
	"math"
	"testing"

	"deepfaked/preprocess"
)

// Who asks for one sensitivity learns what each of the others would have said,
// in the words that they would have said it in.
func TestDecisionsAreThoseOfEverySensitivity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		level   byte // 100 times the log-odds
		windows []preprocess.Window
	}{
		{"below every line", 0, nil},
		{"fake to none but the sensitive", 50, nil},
		{"real to none but the strict", 200, nil},
		{"beyond every line", 250, nil},
		{"two tasks: their lines are fused", 50, []preprocess.Window{voice(2)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kind, frames := preprocess.Video, []preprocess.Frame{grey(c.level, 0)}
			asked := map[Sensitivity]Result{}
			for _, s := range Sensitivities() {
				d := newTestDetector(t, media(kind, frames, c.windows), noFaces)
				r, err := d.Detect(t.Context(), Request{Sensitivity: s})
				if err != nil {
					t.Fatal(err)
				}
				asked[s] = r
			}
			for _, r := range asked {
				for s, want := range asked {
					got := r.Decisions[s]
					if got.Verdict != want.Verdict || math.Abs(got.Threshold-want.Report.Threshold) > 1e-12 {
						t.Errorf("asked for %s: %s would be %+v, but is %s from %v", r.Report.Sensitivity, s, got, want.Verdict, want.Report.Threshold)
					}
				}
			}
		})
	}
}
