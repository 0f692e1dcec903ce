package main

import (
	"fmt"
	"image"

	"deepfaked/inference/ort"
	"deepfaked/preprocess"
)

// fillTiles writes the tiles of a picture into the rows of a session and counts
// them. The grid is that of scripts/train/vision.
func fillTiles(f preprocess.Frame, side, most int, session *ort.Session) (n int, err error) {
	if min(f.Width, f.Height) < side {
		return 0, fmt.Errorf("the picture has less than %d pixels", side)
	}
	columns, rows := grid(f.Width, f.Height, side, most)
	for r := range rows {
		for c := range columns {
			x, y := start(f.Width-side, c, columns), start(f.Height-side, r, rows)
			dst := session.Row(n).U8
			for line := range side {
				at := ((y+line)*f.Width + x) * 3
				copy(dst[line*side*3:(line+1)*side*3], f.Pix[at:])
			}
			n++
		}
	}
	return n, nil
}

// fillOverview writes the middle of a picture, reduced by the factor that brings its
// shorter side nearest to side, into row n, and counts it. A small picture has none.
func fillOverview(f preprocess.Frame, side, n int, session *ort.Session) (int, error) {
	by := (2*min(f.Width, f.Height) + side) / (2 * side)
	if by < 2 {
		return 0, nil
	}
	at := image.Pt((f.Width/by-side)/2, (f.Height/by-side)/2)
	if min(f.Width, f.Height)/by < side {
		return 0, fmt.Errorf("a picture of %d×%d pixels, whose overview has to be reflected", f.Width, f.Height)
	}
	copy(session.Row(n).U8, f.Reduced(by, image.Rectangle{Min: at, Max: at.Add(image.Pt(side, side))}).Pix)
	return 1, nil
}

func grid(width, height, side, most int) (columns, rows int) {
	columns, rows = 1, 1
	for {
		wider := columns < (width+side-1)/side && (columns+1)*rows <= most
		taller := rows < (height+side-1)/side && columns*(rows+1) <= most
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

// start places tile i of n along an edge with room pixels to spare.
func start(room, i, n int) int {
	if n == 1 {
		return room / 2
	}
	return room * i / (n - 1)
}
