package inference

import (
	"time"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// A sentence that was cut into ten minutes of genuine speech is lost in the mean of all windows. In a sound of more than
// four windows, which overlap, the card's calibration.stretch says how many windows in a row are one stretch. The one
// with the highest mean counts, by
//
//	scale * (mean of the stretch) + whole * (mean of all windows) - growth * ln(number of windows) + bias
//
// growth: the highest of many means is high though all of them are genuine, and grows with ln n at most where tails fall
// exponentially (Gumbel). whole: what a microphone, a room or a voice adds to all windows says nothing of one of them.
// scale and bias: genuine recordings of any length pass a line no more often than it promises. The lines stay those of the
// card; scripts/train/speech/stretch.py fits the rest. The mean of the highest tenth was not taken: what is short in a
// long sound is lost in it again.

// stretch is the part of a sound that speaks most for a fake. All is in log-odds at equal priors.
type stretch struct {
	from, to time.Duration
	logOdds  float64
	told     float64 // as much of them as validation supports
	decides  bool    // whether it says more than the whole sound
}

// ofWindows is of how many windows a stretch is, 0 where a model has no rule for one or two have different ones.
func ofWindows(cards []models.Card) (n int) {
	for i, c := range cards {
		switch s := c.Calibration.Stretch; {
		case s == nil, i > 0 && s.Windows != n:
			return 0
		default:
			n = s.Windows
		}
	}
	return n
}

// worst finds the stretch of a long sound; nil where there is none. each are the spoken windows, as each of the
// models judges them, whose mean counts.
func worst(cards []models.Card, media *preprocess.Media, each [][]piece) (found *stretch) {
	n := ofWindows(cards)
	if n == 0 || len(media.Windows) <= preprocess.SideBySide {
		return nil
	}
	for first := range len(each[0]) - n + 1 {
		run := each[0][first : first+n]
		if !oneStretch(media, run) {
			continue
		}
		s := stretch{from: media.Windows[run[0].frame].At, to: end(media.Windows[run[n-1].frame])}
		for i, c := range cards {
			s.add(c, overTime(each[i][first:first+n]), each[i], len(cards))
		}
		if found == nil || s.logOdds > found.logOdds {
			found = &s
		}
	}
	return found
}

// add takes in what one of n models says of it, as finding.add does of the whole.
func (s *stretch) add(c models.Card, own float64, all []piece, n int) {
	var limits claim
	limits.low, limits.high = c.Limits()
	logOdds := c.Calibration.Stretch.LogOdds(own, overTime(all), len(all))
	s.logOdds += logOdds / float64(n)
	s.told += limits.bound(logOdds) / float64(n)
}

// oneStretch says whether windows follow each other without a gap or a pause between them.
func oneStretch(media *preprocess.Media, run []piece) bool {
	for i, p := range run[1:] {
		before := run[i]
		if p.frame != before.frame+1 || media.Windows[p.frame].At > end(media.Windows[before.frame]) {
			return false
		}
	}
	return true
}

// end is when a window ends.
func end(w preprocess.Window) time.Duration { return w.At + lengthOf(w) }

// restOn has the finding rest on the stretch where that says more than the whole does.
func (f *finding) restOn(s *stretch) {
	f.stretch = s
	if s == nil || s.logOdds <= f.logOdds {
		return
	}
	s.decides = true
	f.logOdds, f.told = s.logOdds, s.told
}

// report is what the report says of it.
func (s *stretch) report(c claim) *Stretch {
	if s == nil {
		return nil
	}
	return &Stretch{
		StartSeconds: s.from.Seconds(), EndSeconds: s.to.Seconds(),
		ProbabilityFake: c.probability(s.told), LogOdds: s.logOdds, Decides: s.decides,
	}
}

// ofStretch says whether the finding rests on a stretch.
func (f finding) ofStretch() bool { return f.stretch != nil && f.stretch.decides }
