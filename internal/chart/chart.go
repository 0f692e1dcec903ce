package chart

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"deepfaked/internal/measure"
	"deepfaked/internal/sheet"
)

// Subject is what is drawn: the files of one medium.
type Subject struct {
	Name    string           // begins the titles and the names of the files
	Ranks   measure.Scores   // of any scale, for ROC and DET
	Chances measure.Scores   // P(fake) of the same files, for reliability and histogram
	Points  []OperatingPoint // shown in the given order; at most three
}

// OperatingPoint is where one sensitivity lies.
type OperatingPoint struct {
	Name      string
	Threshold float64
	Rates     measure.Rates
}

// Write draws all that the scores allow into a folder, as NAME-roc.png,
// NAME-det.png, NAME-reliability.png and NAME-histogram.png, in place of what is
// there. Without both classes there is only the histogram, and nothing without files.
func (s Subject) Write(dir string) error {
	if err := s.clear(dir); err != nil {
		return err
	}
	if len(s.Ranks.Real)+len(s.Ranks.Fake) == 0 {
		return nil
	}
	err := sheet.Write(s.histogram(), s.path(dir, "histogram"))
	if len(s.Ranks.Real) == 0 || len(s.Ranks.Fake) == 0 {
		return err
	}
	return errors.Join(err, sheet.Write(s.roc(), s.path(dir, "roc")), sheet.Write(s.det(), s.path(dir, "det")),
		sheet.Write(s.reliability(), s.path(dir, "reliability")))
}

// clear removes pictures of other scores: those that are not drawn again would be
// taken for pictures of these.
func (s Subject) clear(dir string) (err error) {
	for _, what := range []string{"roc", "det", "reliability", "histogram"} {
		if gone := os.Remove(s.path(dir, what)); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

func (s Subject) path(dir, what string) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%s.png", s.Name, what))
}
