package chart

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"deepfaked/internal/sheet"
)

// columns is how many bars a histogram has for each class.
const columns = 20

// reliability compares P(fake) with what came true; calibrated probabilities lie
// on the diagonal.
func (s Subject) reliability() *plot.Plot {
	p := s.sheet("reliability", "mean P(fake) of a tenth of the files", "share that is fake, at equal priors")
	unit(p)
	var points plotter.XYs
	for _, b := range s.Chances.Reliability() {
		points = append(points, plotter.XY{X: b.Predicted, Y: b.Fake})
	}
	curve := sheet.Line(points, sheet.Blue, vg.Points(1.2), nil)
	tenths := &plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{Color: sheet.Blue, Radius: vg.Points(4), Shape: draw.CircleGlyph{}}}
	p.Add(sheet.Line(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, sheet.Grey, vg.Points(.8), dashes[1]), curve, tenths)
	p.Legend.Add(fmt.Sprintf("ECE %.3f", s.Chances.ECE()), curve, tenths)
	sheet.Corner(p, true, true)
	return p
}

// histogram shows how P(fake) is distributed in each class, and the lines of the
// operating points.
func (s Subject) histogram() *plot.Plot {
	p := s.sheet("scores", "P(fake)", "share of the class")
	unit(p)
	p.Y.Tick.Marker = plot.DefaultTicks{}
	p.Y.Max = 0
	for _, class := range []struct {
		name   string
		scores []float64
		colour color.NRGBA
	}{{"genuine", s.Chances.Real, sheet.Blue}, {"fake", s.Chances.Fake, sheet.Red}} {
		if len(class.scores) == 0 {
			continue
		}
		bars := distribution(class.scores, class.colour)
		p.Add(bars)
		p.Legend.Add(class.name, bars)
	}
	top := p.Y.Max * 1.05
	for i, o := range s.Points {
		edge := sheet.Line(plotter.XYs{{X: o.Threshold, Y: 0}, {X: o.Threshold, Y: top}}, sheet.Grey, vg.Points(1), dashes[i])
		p.Add(edge)
		p.Legend.Add(fmt.Sprintf("%s: from %.3f on", o.Name, o.Threshold), edge)
	}
	p.Y.Max = top * 1.4 // leaves room for the legend
	sheet.Corner(p, true, true)
	return p
}

// distribution is the share of the scores in each column.
func distribution(scores []float64, colour color.NRGBA) *plotter.Histogram {
	bars := &plotter.Histogram{Width: 1. / columns, LineStyle: draw.LineStyle{Color: colour, Width: vg.Points(.8)}}
	colour.A = 90 // both classes are seen where they overlap
	bars.FillColor = colour
	for i := range columns {
		bars.Bins = append(bars.Bins, plotter.HistogramBin{Min: float64(i) / columns, Max: float64(i+1) / columns})
	}
	for _, v := range scores {
		bars.Bins[min(int(v*columns), columns-1)].Weight += 1 / float64(len(scores))
	}
	return bars
}
