package inference

import (
	"image"

	"deepfaked/inference/face"
	"deepfaked/models"
	"deepfaked/preprocess"
)

// rowsOf is the work of one model on the pieces of a file's frames or stretches: several rows
// may belong to a piece.
type rowsOf struct {
	work  Work
	owner []int             // piece of each row
	share []float64         // of each row in its piece's logit
	count int               // pieces
	boxes []image.Rectangle // of each row that is a tile, in pixels of the original
}

// judgedTile is a tile and what it says by itself.
type judgedTile struct {
	box     image.Rectangle
	logOdds float64 // calibrated as the picture is
}

// judgedTiles are those of the rows.
func (r rowsOf) judgedTiles(outputs []float32, c models.Calibration) []judgedTile {
	out := make([]judgedTile, len(r.boxes))
	for i, box := range r.boxes {
		logit, _ := r.output(outputs, i)
		out[i] = judgedTile{box: box, logOdds: calibrated(c, logit)}
	}
	return out
}

// output is what is said of a row: its logit, which counts as much as the row is like the training media, and that
// likeness, 1 where the model tells none.
func (r rowsOf) output(outputs []float32, row int) (logit, likeness float64) {
	own := outputs[row*r.numbers(outputs):][:r.numbers(outputs)]
	if len(own) == 1 {
		return float64(own[0]), 1
	}
	return float64(own[0]) * float64(own[1]), float64(own[1])
}

// numbers is how many the model says of a row.
func (r rowsOf) numbers(outputs []float32) int { return len(outputs) / len(r.owner) }

// add notes n rows of a piece that together have a share in its logit.
func (r *rowsOf) add(piece, n int, share float64) {
	for range n {
		r.owner, r.share = append(r.owner, piece), append(r.share, share/float64(n))
	}
}

// judgement is what a model says of each piece.
type judgement struct {
	logits   []float64
	likeness []float64 // to its training media, from 1 to 0; nil where the model tells none
}

// pool averages what is said of the rows of each piece.
func (r rowsOf) pool(outputs []float32) judgement {
	j := judgement{logits: make([]float64, r.count), likeness: make([]float64, r.count)}
	for i, piece := range r.owner {
		logit, likeness := r.output(outputs, i)
		j.logits[piece] += r.share[i] * logit
		j.likeness[piece] += r.share[i] * likeness
	}
	if r.numbers(outputs) == 1 {
		j.likeness = nil
	}
	return j
}

// work cuts the pieces into the rows that the model takes.
func (d *Detector) work(media *preprocess.Media, c models.Card, pieces []piece) rowsOf {
	r := rowsOf{count: len(pieces)}
	var fill func(int, models.Row)
	switch c.Task {
	case models.FaceManipulation:
		fill = r.crops(media, c, pieces)
	case models.FaceMotion:
		fill = r.motions(media, c, pieces)
	default:
		fill = r.tiles(media, c, pieces)
	}
	r.work = Work{Model: c.Name, Rows: len(r.owner), Fill: fill}
	return r
}

// crops are cut before the work is queued: scaling them would hold up the
// executor. A row is the crop of a face, or that and a wider one.
func (r *rowsOf) crops(media *preprocess.Media, c models.Card, pieces []piece) func(int, models.Row) {
	side := int(c.Input.Shape[len(c.Input.Shape)-2])
	cut := make([][]byte, len(pieces))
	for i, p := range pieces {
		frame := media.Frames[p.frame]
		cut[i] = face.Crop(frame, p.track[0], c.Preprocessing.Margin, side)
		if wide := c.Preprocessing.Surround; wide > 0 {
			cut[i] = append(cut[i], face.Crop(frame, p.track[0], wide, side)...)
		}
		r.add(i, 1, 1)
	}
	return func(i int, dst models.Row) { copy(dst.U8, cut[i]) }
}

// The tiles of one file over all its frames are bounded, as neighbours in time say much the same, but
// not below those by which frames of films were measured: fewer lie elsewhere in a frame, and came
// out otherwise (by .13 in log-odds in the median of 32 films, by .9 at most). A single picture has
// as many as its model's card says.
const (
	videoTiles    = 48
	measuredTiles = 4
)

// tiles are copied when the model asks for them; overviews are made before the work
// is queued, as crops are.
func (r *rowsOf) tiles(media *preprocess.Media, c models.Card, pieces []piece) func(int, models.Row) {
	side := int(c.Input.Shape[1])
	each := max(1, c.Preprocessing.Tiles)
	if len(pieces) > 1 {
		each = min(each, max(videoTiles/len(pieces), measuredTiles))
	}
	var tiles []tile
	for i, p := range pieces {
		f, share := media.Frames[p.frame], 1.0
		if by := overviewFactor(f, side); c.Preprocessing.Overview && by > 1 {
			tiles, share = append(tiles, overview(f, by, side)), 0.5
			r.boxes = append(r.boxes, inOriginal(overviewed(f, by, side), f, media))
			r.add(i, 1, share)
		}
		origins := tileOrigins(f.Width, f.Height, side, each)
		for _, at := range origins {
			tiles = append(tiles, tile{f, at})
			shown := image.Rectangle{Min: at, Max: at.Add(image.Pt(side, side))}
			r.boxes = append(r.boxes, inOriginal(shown.Intersect(image.Rect(0, 0, f.Width, f.Height)), f, media))
		}
		r.add(i, len(origins), share)
	}
	return func(i int, dst models.Row) { tiles[i].fill(dst.U8, side) }
}
