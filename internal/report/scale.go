package report

import (
	"fmt"
	"strings"

	"deepfaked/inference"
)

// scale is a bar from 0 to 100 % with P(fake) and the lines of the three sensitivities, in units of its own.
type scale struct {
	Width, Height, Left, Right, Long, Top, Thick, Bottom int
	Said                                                 string
	Lines                                                []mark
	Score                                                mark
	CoversStart, CoversEnd                               bool // the score lies where the end of the scale is told
}

// mark is a place on a scale and its label.
type mark struct {
	X, Y, Long   int
	TextX, TextY int
	Anchor, Text string
	Chosen       bool
}

// scale is nil where no line was drawn.
func (d *Document) scale() *scale {
	if d.Assessment == inference.NotApplicable || len(d.Thresholds) == 0 {
		return nil
	}
	const left, right, row = 4, 636, 15
	s := &scale{Width: 640, Left: left, Right: right, Long: right - left, Thick: 14}
	at := func(p float64) int { return left + int(p*(right-left)+.5) }
	var said []string
	for _, level := range inference.Sensitivities() { // from the highest line to the lowest
		line, ok := d.Thresholds[level]
		if !ok {
			continue
		}
		m := mark{X: at(line), Y: s.Top + 2, Text: fmt.Sprintf("%s %s", level, percent(line)), Chosen: level == d.Sensitivity, TextY: s.Top + 11}
		m.TextX, m.Anchor = beside(m.X)
		s.Lines, s.Top = append(s.Lines, m), s.Top+row
		said = append(said, m.Text)
	}
	s.Top += 3
	s.Bottom = s.Top + s.Thick
	s.Height = s.Bottom + 26
	p := at(d.ProbabilityFake)
	s.Score = mark{X: p, Long: p - left, TextY: s.Bottom + 22, Text: "P(fake) " + percent(d.ProbabilityFake)}
	const room = 90 // of half the text, and the end of the scale beside it
	s.Score.TextX, s.Score.Anchor = p, "middle"
	if s.CoversStart = p < left+room; s.CoversStart {
		s.Score.TextX, s.Score.Anchor = left, "start"
	}
	if s.CoversEnd = p > right-room; s.CoversEnd {
		s.Score.TextX, s.Score.Anchor = right, "end"
	}
	s.Said = fmt.Sprintf("P(fake) is %s; the lines are %s.", percent(d.ProbabilityFake), strings.Join(said, ", "))
	return s
}

// beside is where a label stands: to the left of its line, where none of a lower sensitivity runs through it, or to the
// right where there is no room.
func beside(x int) (at int, anchor string) {
	const room = 110
	if x < room {
		return x + 5, "start"
	}
	return x - 5, "end"
}
