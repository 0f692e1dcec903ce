package chart

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const margin = 3 * vg.Millimeter

// Colours that people tell apart who see no red or green (Okabe and Ito, Color
// universal design, 2008).
var (
	blue  = color.NRGBA{0, 114, 178, 255}
	red   = color.NRGBA{213, 94, 0, 255}
	grey  = color.NRGBA{120, 120, 120, 255}
	faint = color.NRGBA{225, 225, 225, 255}
)

// dashes tell the operating points' lines apart, glyphs their points.
var (
	dashes = [][]vg.Length{{vg.Points(6), vg.Points(2)}, {vg.Points(3), vg.Points(2)}, {vg.Points(1), vg.Points(2)}}
	glyphs = []draw.GlyphDrawer{draw.PyramidGlyph{}, draw.CircleGlyph{}, draw.BoxGlyph{}}
)

// sheet is an empty picture. Its title says how many files the figures rest on.
func (s Subject) sheet(what, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s: %s (%d genuine, %d fake)", s.Name, what, len(s.Ranks.Real), len(s.Ranks.Fake))
	p.X.Label.Text, p.Y.Label.Text = x, y
	for style, size := range map[*text.Style]vg.Length{
		&p.Title.TextStyle: 12, &p.X.Label.TextStyle: 10, &p.Y.Label.TextStyle: 10,
		&p.X.Tick.Label: 9, &p.Y.Tick.Label: 9, &p.Legend.TextStyle: 9,
	} {
		style.Font.Variant, style.Font.Size = "Sans", size
	}
	p.Title.Padding, p.X.Label.Padding, p.Y.Label.Padding = margin, margin/2, margin/2
	p.X.Padding, p.Y.Padding = 0, 0
	p.Legend.Padding, p.Legend.ThumbnailWidth = vg.Points(2), vg.Points(22)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	p.Add(grid)
	return p
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

// corner says where the legend is, and keeps it off the axes.
func corner(p *plot.Plot, top, left bool) {
	p.Legend.Top, p.Legend.Left = top, left
	p.Legend.XOffs, p.Legend.YOffs = -2*margin, margin
	if left {
		p.Legend.XOffs = margin
	}
	if top {
		p.Legend.YOffs = -margin
	}
}

// line is a stroke through points.
func line(points plotter.XYs, c color.Color, width vg.Length, dash []vg.Length) *plotter.Line {
	return &plotter.Line{XYs: points, LineStyle: draw.LineStyle{Color: c, Width: width, Dashes: dash}}
}

// dot is a point with a shape.
func dot(x, y float64, shape draw.GlyphDrawer) *plotter.Scatter {
	return &plotter.Scatter{XYs: plotter.XYs{{X: x, Y: y}}, GlyphStyle: draw.GlyphStyle{Color: red, Radius: vg.Points(4), Shape: shape}}
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
