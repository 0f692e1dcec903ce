package sheet

import (
	"errors"
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Pictures are square.
const (
	side   = 5 * vg.Inch
	dots   = 160 // an inch
	margin = 3 * vg.Millimeter
)

// The colours of pictures. People tell them apart who see no red or green (Okabe and Ito,
// Color universal design, 2008).
var (
	Blue  = color.NRGBA{0, 114, 178, 255}
	Red   = color.NRGBA{213, 94, 0, 255}
	Green = color.NRGBA{0, 158, 115, 255}
	Grey  = color.NRGBA{120, 120, 120, 255}
	faint = color.NRGBA{225, 225, 225, 255}
)

// New is an empty picture with a grid.
func New(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
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

// Corner says where the legend is, and keeps it off the axes.
func Corner(p *plot.Plot, top, left bool) {
	p.Legend.Top, p.Legend.Left = top, left
	p.Legend.XOffs, p.Legend.YOffs = -2*margin, margin
	if left {
		p.Legend.XOffs = margin
	}
	if top {
		p.Legend.YOffs = -margin
	}
}

// Line is a stroke through points; without a dash it is solid.
func Line(points plotter.XYs, c color.Color, width vg.Length, dash []vg.Length) *plotter.Line {
	return &plotter.Line{XYs: points, LineStyle: draw.LineStyle{Color: c, Width: width, Dashes: dash}}
}

// Write draws a picture into a PNG file, over what is there.
func Write(p *plot.Plot, path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	canvas := vgimg.NewWith(vgimg.UseWH(side, side), vgimg.UseDPI(dots))
	p.Draw(draw.Crop(draw.New(canvas), margin, -2*margin, margin, -margin))
	_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(f)
	return err
}
