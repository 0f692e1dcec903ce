package inference

import (
	"context"
	"image"

	"golang.org/x/sync/errgroup"

	"deepfaked/inference/face"
	"deepfaked/models"
	"deepfaked/preprocess"
)

// faces has the model that finds faces look at all frames: at once where they fill as
// much of its input, which those of a video do whose size does not change. On a GPU, where a
// shape that is new costs more than the rest of the input, all of it is looked at.
func (d *Detector) faces(ctx context.Context, req Request, frames []preprocess.Frame) ([][]image.Rectangle, error) {
	side := int(d.finder.Input.Shape[1])
	views, err := look(frames, side)
	if err != nil || len(views) == 0 {
		return nil, err
	}
	extentOf, fill := face.View.Extent, face.View.Fill
	if d.parts.FixedShapes {
		extentOf, fill = func(face.View) int { return 0 }, face.View.FillWhole
	}
	alike := map[int][]int{}
	for i, v := range views {
		alike[extentOf(v)] = append(alike[extentOf(v)], i)
	}
	found := make([][]image.Rectangle, len(views))
	for extent, some := range alike {
		output, err := d.parts.Scheduler.Run(ctx, Work{
			Model: d.finder.Name, Rows: len(some), Account: req.Account, Priority: req.Priority, Extent: extent,
			Fill: func(i int, dst models.Row) { fill(views[some[i]], dst.U8, side) },
		})
		if err != nil {
			return nil, err
		}
		each := len(output) / len(some)
		for i, v := range some {
			found[v] = views[v].Boxes(output[i*each:(i+1)*each], *d.finder.Detection, d.opts.Faces)
		}
	}
	return found, nil
}

// look reduces all frames at once, as far as there are processors, and before the
// work is queued: it would hold up the executor.
func look(frames []preprocess.Frame, side int) ([]face.View, error) {
	views := make([]face.View, len(frames))
	var g errgroup.Group
	for i, f := range frames {
		g.Go(func() error {
			return guarded(func() error {
				views[i] = face.Look(f, side)
				return nil
			})
		})
	}
	return views, g.Wait()
}
