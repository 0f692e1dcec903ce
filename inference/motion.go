package inference

import (
	"context"
	"fmt"

	"deepfaked/inference/face"
	"deepfaked/models"
	"deepfaked/preprocess"
)

// motions are the pieces of the task FaceMotion: each face of each stretch. The model
// that finds faces looks at three frames of a stretch, for what is in between is clear.
func (d *Detector) motions(ctx context.Context, req Request, media *preprocess.Media) ([]piece, error) {
	var looked []preprocess.Frame
	for i, s := range media.Stretches {
		n := len(s.Frames)
		if n != d.stretch {
			return nil, fmt.Errorf("stretch %d has %d frames, the models of motion are shown %d", i, n, d.stretch)
		}
		looked = append(looked, s.Frames[0], s.Frames[n/2], s.Frames[n-1])
	}
	found, err := d.faces(ctx, req, looked)
	if err != nil {
		return nil, err
	}
	var out []piece
	for i, s := range media.Stretches {
		three := found[3*i:][:3]
		for _, track := range face.Tracks(three[0], three[1], three[2], len(s.Frames)) {
			middle := len(s.Frames) / 2
			out = append(out, piece{
				frame: i, seconds: s.Frames[0].At.Seconds(), track: track,
				box: inOriginal(track[middle], s.Frames[middle], media),
			})
		}
	}
	return out, nil
}

// motions are cut before the work is queued, as crops are: a row is the crops of a face
// in all frames of its stretch.
func (r *rowsOf) motions(media *preprocess.Media, c models.Card, pieces []piece) func(int, models.Row) {
	side := int(c.Input.Shape[2])
	cut := make([][]byte, len(pieces))
	for i, p := range pieces {
		cut[i] = make([]byte, 0, c.Input.RowLen())
		for j, f := range media.Stretches[p.frame].Frames {
			cut[i] = append(cut[i], face.Crop(f, p.track[j], c.Preprocessing.Margin, side)...)
		}
		r.add(i, 1, 1)
	}
	return func(i int, dst models.Row) { copy(dst.U8, cut[i]) }
}
