package chart

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"deepfaked/internal/sheet"
)

// dashes tell the operating points' lines apart, glyphs their points.
var (
	dashes = [][]vg.Length{{vg.Points(6), vg.Points(2)}, {vg.Points(3), vg.Points(2)}, {vg.Points(1), vg.Points(2)}}
	glyphs = []draw.GlyphDrawer{draw.PyramidGlyph{}, draw.CircleGlyph{}, draw.BoxGlyph{}}
)

// sheet is an empty picture. Its title says how many files the figures rest on.
func (s Subject) sheet(what, x, y string) *plot.Plot {
	return sheet.New(fmt.Sprintf("%s: %s (%d genuine, %d fake)", s.Name, what, len(s.Ranks.Real), len(s.Ranks.Fake)), x, y)
}

// unit spans both axes from 0 to 1.
func unit(p *plot.Plot) {
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	var ticks plot.ConstantTicks
	for i := range 11 {
		t := plot.Tick{Value: float64(i) / 10}
		if i%2 == 0 {
			t.Label = fmt.Sprintf("%.1f", t.Value)
		}
		ticks = append(ticks, t)
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks, ticks
}

// dot is a point with a shape.
func dot(x, y float64, shape draw.GlyphDrawer) *plotter.Scatter {
	return &plotter.Scatter{XYs: plotter.XYs{{X: x, Y: y}}, GlyphStyle: draw.GlyphStyle{Color: sheet.Red, Radius: vg.Points(4), Shape: shape}}
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
