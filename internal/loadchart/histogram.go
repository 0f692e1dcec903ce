package loadchart

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"deepfaked/internal/load"
	"deepfaked/internal/sheet"
)

// columns is how many there are for each factor of ten.
const columns = 20

// Histogram draws the shares of latencies on a logarithmic axis, with the
// percentiles that matter, over what is there. There must be a latency.
func Histogram(path, title string, d load.Distribution) error {
	p := sheet.New(fmt.Sprintf("%s (%d requests)", title, d.Count()), "latency, s", "share of the requests")
	logarithmic(&p.X)
	top := 0.
	var outline plotter.XYs
	for _, b := range d.Bars(columns) {
		share := float64(b.Count) / float64(d.Count())
		outline = append(outline, plotter.XY{X: seconds(b.From), Y: share}, plotter.XY{X: seconds(b.To), Y: share})
		top = max(top, share)
	}
	area := append(plotter.XYs{{X: outline[0].X}}, outline...)
	area = append(area, plotter.XY{X: outline[len(outline)-1].X})
	fill, err := plotter.NewPolygon(area)
	if err != nil {
		return err
	}
	c := sheet.Blue
	fill.Width = 0
	c.A = 90
	fill.Color = c
	p.Add(fill, sheet.Line(area, sheet.Blue, vg.Points(.8), nil))
	for i, percent := range []float64{50, 99} {
		at := d.Percentile(percent)
		edge := sheet.Line(plotter.XYs{{X: seconds(at)}, {X: seconds(at), Y: top * 1.05}}, []color.Color{sheet.Grey, sheet.Red}[i], vg.Points(1.2), nil)
		p.Add(edge)
		relation := ""
		if !d.Known(percent) {
			relation = "≥ "
		}
		p.Legend.Add(fmt.Sprintf("p%g: %s%.4g s", percent, relation, at.Seconds()), edge)
	}
	p.Y.Min, p.Y.Max = 0, top*1.3 // leaves room for the legend
	decades(&p.X)
	sheet.Corner(p, true, false)
	return sheet.Write(p, path)
}
