package chart

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"deepfaked/internal/sheet"
)

// roc is the receiver operating characteristic with the operating points on it.
func (s Subject) roc() *plot.Plot {
	p := s.sheet("ROC", "false positive rate", "detection rate")
	unit(p)
	var points plotter.XYs
	for _, c := range s.Ranks.ROC() {
		points = append(points, plotter.XY{X: c.FPR, Y: c.TPR})
	}
	curve := sheet.Line(points, sheet.Blue, vg.Points(1.8), nil)
	p.Add(sheet.Line(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, sheet.Grey, vg.Points(.8), dashes[1]), curve)
	low, high := s.Ranks.AUCInterval()
	p.Legend.Add(fmt.Sprintf("AUC %.3f [%.3f, %.3f]", s.Ranks.AUC(), low, high), curve)
	s.mark(p, func(fpr, tpr float64) (x, y float64) { return fpr, tpr })
	sheet.Corner(p, false, false) // good curves run through the upper left one
	return p
}

// mark puts the operating points into a picture.
func (s Subject) mark(p *plot.Plot, place func(fpr, tpr float64) (x, y float64)) {
	for i, o := range s.Points {
		x, y := place(o.Rates.FPR, o.Rates.TPR)
		glyph := dot(x, y, glyphs[i])
		p.Add(glyph)
		p.Legend.Add(fmt.Sprintf("%s: TPR %s, FPR %s", o.Name, percent(o.Rates.TPR), percent(o.Rates.FPR)), glyph)
	}
}

// det is the detection error tradeoff on normal-deviate axes, where the scores of
// two normal distributions make a straight line (Martin et al., The DET curve in
// assessment of detection task performance, Eurospeech 1997). Rates of 0 and 1,
// which would lie infinitely far away, are drawn half a file from there
// (Macmillan and Kaplan, Psychological Bulletin 1985).
func (s Subject) det() *plot.Plot {
	p := s.sheet("DET", "false positive rate, %", "miss rate, %")
	genuine, fakes := len(s.Ranks.Real), len(s.Ranks.Fake)
	place := func(fpr, tpr float64) (x, y float64) { return deviate(fpr, genuine), deviate(1-tpr, fakes) }
	var points plotter.XYs
	for _, c := range s.Ranks.ROC() {
		x, y := place(c.FPR, c.TPR)
		points = append(points, plotter.XY{X: x, Y: y})
	}
	curve := sheet.Line(points, sheet.Blue, vg.Points(1.8), nil)
	ticks := deviates(max(genuine, fakes))
	low, high := ticks[0].Value, ticks[len(ticks)-1].Value
	p.Add(sheet.Line(plotter.XYs{{X: low, Y: low}, {X: high, Y: high}}, sheet.Grey, vg.Points(.8), dashes[1]), curve)
	p.Legend.Add("EER "+percent(s.Ranks.EER()), curve)
	s.mark(p, place)
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks, ticks
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = low, high, low, high
	sheet.Corner(p, true, false)
	return p
}

// deviate is the quantile of the normal distribution for a rate among n files.
func deviate(rate float64, n int) float64 {
	half := .5 / float64(n)
	return probit(min(max(rate, half), 1-half))
}

func probit(rate float64) float64 { return math.Sqrt2 * math.Erfinv(2*rate-1) }

// deviates are ticks from just beyond the rates that n files allow to the same
// distance on the other side. Not all have labels: they would run into each other.
func deviates(n int) (ticks plot.ConstantTicks) {
	rates := []float64{.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.98, 99.99}
	for beyond := 50 / float64(n); rates[1] <= beyond && rates[0] < 5; {
		rates = rates[1 : len(rates)-1]
	}
	for _, r := range rates {
		t := plot.Tick{Value: probit(r / 100)}
		switch r {
		case .01, .1, 1, 5, 10, 20, 40, 60, 80, 90, 95, 99, 99.9, 99.99:
			t.Label = fmt.Sprint(r)
		}
		ticks = append(ticks, t)
	}
	return ticks
}
