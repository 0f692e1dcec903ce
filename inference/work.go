package inference

import (
	"image"

	"deepfaked/inference/face"
	"deepfaked/models"
	"deepfaked/preprocess"
)

// rowsOf is the work of one model on the pieces of a file's frames: several rows
// may belong to a piece.
type rowsOf struct {
	work  Work
	owner []int // piece of each row
	count int   // pieces
}

// pool averages the logits of the rows of each piece.
func (r rowsOf) pool(logits []float32) []float64 {
	sum, n := make([]float64, r.count), make([]float64, r.count)
	for i, z := range logits {
		sum[r.owner[i]] += float64(z)
		n[r.owner[i]]++
	}
	for i := range sum {
		sum[i] /= n[i]
	}
	return sum
}

// work cuts the pieces into the rows that the model takes.
func (d *Detector) work(media *preprocess.Media, c models.Card, pieces []piece) rowsOf {
	r := rowsOf{count: len(pieces)}
	var fill func(int, models.Row)
	if c.Task == models.FaceManipulation {
		fill = r.crops(media, c, pieces)
	} else {
		fill = r.tiles(media, c, pieces)
	}
	r.work = Work{Model: c.Name, Rows: len(r.owner), Fill: fill}
	return r
}

// crops are cut before the work is queued: scaling them would hold up the
// executor.
func (r *rowsOf) crops(media *preprocess.Media, c models.Card, pieces []piece) func(int, models.Row) {
	side := int(c.Input.Shape[1])
	cut := make([][]byte, len(pieces))
	for i, p := range pieces {
		cut[i] = face.Crop(media.Frames[p.frame], p.box, c.Preprocessing.Margin, side)
		r.owner = append(r.owner, i)
	}
	return func(i int, dst models.Row) { copy(dst.U8, cut[i]) }
}

// videoTiles bounds the tiles of one file over all its frames: neighbours in
// time say much the same.
const videoTiles = 48

func (r *rowsOf) tiles(media *preprocess.Media, c models.Card, pieces []piece) func(int, models.Row) {
	side := int(c.Input.Shape[1])
	each := max(1, min(c.Preprocessing.Tiles, videoTiles/len(pieces)))
	var at []image.Point
	for i, p := range pieces {
		f := media.Frames[p.frame]
		origins := tileOrigins(f.Width, f.Height, side, each)
		at = append(at, origins...)
		for range origins {
			r.owner = append(r.owner, i)
		}
	}
	return func(i int, dst models.Row) {
		fillTile(dst.U8, media.Frames[pieces[r.owner[i]].frame], at[i], side)
	}
}
