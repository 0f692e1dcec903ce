package inference_test

import (
	"errors"
	"fmt"
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"deepfaked/internal/sheet"
)

// panel is one of the picture's four: a figure against the load.
type panel struct {
	title  string
	log    bool
	corner bool // the legend is at the top left, instead of the bottom right
	figure func(scaled) float64
}

func drawScaling(path string, all []scaled) error {
	panels := [][]*plot.Plot{{nil, nil}, {nil, nil}}
	for i, p := range []panel{
		{"answered in time, requests a second", false, true, func(s scaled) float64 { return s.goodput }},
		{"rows in a batch, mean", false, false, func(s scaled) float64 { return s.batch }},
		{"median latency, ms", true, false, func(s scaled) float64 { return s.p50 }},
		{"99th percentile of the latency, ms", true, false, func(s scaled) float64 { return s.p99 }},
	} {
		panels[i/2][i%2] = p.draw(all)
	}
	return write(path, panels)
}

func (p panel) draw(all []scaled) *plot.Plot {
	out := sheet.New(p.title, "load, requests a second", "")
	if p.log {
		out.Y.Scale, out.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	for i, cards := range []int{1, 2, 4, 8} {
		var at plotter.XYs
		for _, s := range all {
			if s.cards == cards {
				at = append(at, plotter.XY{X: s.load, Y: p.figure(s)})
			}
		}
		curve := sheet.Line(at, []color.Color{sheet.Grey, sheet.Green, sheet.Red, sheet.Blue}[i], vg.Points(1.8), nil)
		out.Add(curve)
		out.Legend.Add(fmt.Sprintf("%d GPU", cards), curve)
	}
	out.X.Min, out.X.Max = 0, 14_000
	if p.log {
		out.Y.Min, out.Y.Max = 1, 200
	} else {
		out.Y.Min, out.Y.Max = 0, out.Y.Max*1.1
	}
	sheet.Corner(out, p.corner, p.corner)
	return out
}

func write(path string, panels [][]*plot.Plot) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	canvas := vgimg.NewWith(vgimg.UseWH(9*vg.Inch, 7*vg.Inch), vgimg.UseDPI(110), vgimg.UseBackgroundColor(color.White))
	tiles := draw.Tiles{Rows: 2, Cols: 2, PadX: 8 * vg.Millimeter, PadY: 6 * vg.Millimeter, PadTop: vg.Points(8), PadBottom: vg.Points(4), PadLeft: vg.Points(4), PadRight: vg.Points(18)}
	for i, row := range plot.Align(panels, tiles, draw.New(canvas)) {
		for j, c := range row {
			panels[i][j].Draw(c)
		}
	}
	_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(f)
	return err
}
