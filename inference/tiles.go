package inference

import (
	"image"

	"deepfaked/preprocess"
)

// tileGrid says how many columns and rows of tiles are cut from a picture of at
// least side×side pixels, at most tiles in all. It starts with one tile and adds
// a column where width*rows >= height*columns and a row otherwise, or the other
// one where that may not be added: columns stay within width/side rounded up,
// rows likewise. scripts/train/vision defines the same grid for training.
func tileGrid(width, height, side, tiles int) (columns, rows int) {
	columns, rows = 1, 1
	for {
		wider := columns < (width+side-1)/side && (columns+1)*rows <= tiles
		taller := rows < (height+side-1)/side && columns*(rows+1) <= tiles
		switch {
		case wider && (width*rows >= height*columns || !taller):
			columns++
		case taller:
			rows++
		default:
			return columns, rows
		}
	}
}

// tileOrigins returns the upper left corners of the tiles of a picture, row by
// row, spread evenly from edge to edge. A picture smaller than a tile counts as
// large as one: fillTile reflects it outwards.
func tileOrigins(width, height, side, tiles int) []image.Point {
	width, height = max(width, side), max(height, side)
	columns, rows := tileGrid(width, height, side, tiles)
	origins := make([]image.Point, 0, columns*rows)
	for r := range rows {
		for c := range columns {
			origins = append(origins, image.Pt(start(width-side, c, columns), start(height-side, r, rows)))
		}
	}
	return origins
}

// start places tile i of n along an edge with room pixels to spare.
func start(room, i, n int) int {
	if n == 1 {
		return room / 2
	}
	return room * i / (n - 1)
}

// overviewFactor is the whole factor that brings the frame's shorter side nearest to
// side; halves are rounded up.
func overviewFactor(f preprocess.Frame, side int) int {
	return (2*min(f.Width, f.Height) + side) / (2 * side)
}

// overview is the middle of a frame that is reduced by a factor. Only the blocks that
// it shows are looked at.
func overview(f preprocess.Frame, by, side int) tile {
	return tile{frame: f.Reduced(by, middleOf(f, by, side))}
}

// middleOf is what an overview shows, in pixels of the reduced frame.
func middleOf(f preprocess.Frame, by, side int) (part image.Rectangle) {
	middle := func(length int) (low, high int) {
		low = max(0, (length/by-side)/2)
		return low, min(low+side, length/by)
	}
	part.Min.X, part.Max.X = middle(f.Width)
	part.Min.Y, part.Max.Y = middle(f.Height)
	return part
}

// overviewed is what an overview shows, in pixels of the frame.
func overviewed(f preprocess.Frame, by, side int) image.Rectangle {
	part := middleOf(f, by, side)
	return image.Rectangle{Min: part.Min.Mul(by), Max: part.Max.Mul(by)}
}

// tile is a square of a frame, its upper left corner at a point.
type tile struct {
	frame preprocess.Frame
	at    image.Point
}

// fill writes the tile, side×side RGB pixels, into dst. Beyond the right and lower
// edge the frame is reflected, as often as it takes.
func (t tile) fill(dst []byte, side int) {
	frame, p := t.frame, t.at
	if p.X+side <= frame.Width && p.Y+side <= frame.Height {
		for y := range side {
			at := ((p.Y+y)*frame.Width + p.X) * 3
			copy(dst[y*side*3:(y+1)*side*3], frame.Pix[at:])
		}
		return
	}
	for y := range side {
		row := reflect(p.Y+y, frame.Height) * frame.Width
		for x := range side {
			at := (row + reflect(p.X+x, frame.Width)) * 3
			copy(dst[(y*side+x)*3:(y*side+x)*3+3], frame.Pix[at:at+3])
		}
	}
}

// reflect maps a coordinate beyond the edge back inside, without repeating the
// edge pixel: 0 1 2 3 is followed by 2 1 0 1.
func reflect(i, n int) int {
	if n == 1 {
		return 0
	}
	period := 2 * (n - 1)
	if i %= period; i >= n {
		i = period - i
	}
	return i
}
