package loadchart

import (
	"cmp"
	"image/color"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"deepfaked/internal/load"
	"deepfaked/internal/sheet"
)

// Point is what was measured under one load.
type Point struct {
	Rate    float64 // requests a second that were due
	Latency load.Distribution
}

// Curve draws the median and the tail against the load, over what is there; points may
// come in any order, and one that is not known is drawn at its lower bound. The axis of
// latencies is logarithmic. There must be a point.
func Curve(path, title string, points []Point) error {
	p := sheet.New(title, "requests a second, as intended", "latency, s")
	logarithmic(&p.Y)
	byRate := func(a, b Point) int { return cmp.Compare(a.Rate, b.Rate) }
	points = slices.SortedStableFunc(slices.Values(points), byRate)
	for _, q := range []struct {
		name    string
		percent float64
		colour  color.Color
		shape   draw.GlyphDrawer
	}{
		{"p99", 99, sheet.Red, draw.PyramidGlyph{}}, {"p95", 95, sheet.Green, draw.BoxGlyph{}}, {"p50", 50, sheet.Blue, draw.CircleGlyph{}},
	} {
		var at plotter.XYs
		for _, point := range points {
			at = append(at, plotter.XY{X: point.Rate, Y: seconds(point.Latency.Percentile(q.percent))})
		}
		curve := sheet.Line(at, q.colour, vg.Points(1.8), nil)
		marks := &plotter.Scatter{XYs: at, GlyphStyle: draw.GlyphStyle{Color: q.colour, Radius: vg.Points(3), Shape: q.shape}}
		p.Add(curve, marks)
		p.Legend.Add(q.name, curve, marks)
	}
	p.X.Min, p.X.Max = 0, p.X.Max*1.1
	decades(&p.Y)
	sheet.Corner(p, true, true)
	return sheet.Write(p, path)
}

func logarithmic(axis *plot.Axis) {
	axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
}

// decades widens an axis to whole factors of ten and a bit, so that there are
// labels and room for points at the edge.
func decades(axis *plot.Axis) {
	low, high := 1e-6, 1e-5
	for low*10 <= axis.Min {
		low *= 10
	}
	for high < axis.Max {
		high *= 10
	}
	axis.Min, axis.Max = low, high*1.2
}

func seconds(d time.Duration) float64 { return max(d, time.Microsecond).Seconds() }
