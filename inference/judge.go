package inference

import (
	"context"
	"errors"
	"image"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// piece is what one task judges at a time: a frame, a face, a face in a stretch or a
// window.
type piece struct {
	frame   int // index into the media's frames, or of the stretch or the window
	seconds float64
	box     image.Rectangle   // of a face, in pixels of the original; of a stretch, in the middle frame
	track   []image.Rectangle // of a face in each frame that it is cut from, in pixels of these
	logOdds float64           // calibrated, of one model
	told    float64           // of all of them, as much as validation supports
	length  time.Duration     // of a window
	tiles   []judgedTile      // of a single picture, as one model sees them
}

// finding is what one task says of the whole file.
type finding struct {
	task      models.Task
	pieces    []piece
	logOdds   float64
	told      float64 // as much of them as validation supports
	threshold float64 // log-odds
	claim     claim
	speech    time.Duration // of sound
	likeness  *float64      // to the training media of the model that knows the least of its kind, from 1 to 0; nil where none tells
	stretch   *stretch      // of a long sound; may be nil
}

// ofFaces says whether its pieces are faces, which a model of another task has found.
func (f finding) ofFaces() bool { return len(f.pieces[0].track) > 0 }

func (f finding) report() Finding {
	line := f.claim.decide(f.logOdds, f.told, f.threshold).threshold
	out := Finding{Task: string(f.task), ProbabilityFake: f.claim.probability(f.told), LogOdds: f.logOdds, Threshold: line, Likeness: f.likeness, Stretch: f.stretch.report(f.claim)}
	for _, p := range f.pieces {
		one := Piece{AtSeconds: p.seconds, ProbabilityFake: f.claim.probability(p.told), DurationSeconds: p.length.Seconds()}
		for _, t := range p.tiles {
			one.Tiles = append(one.Tiles, Tile{Box: corners(t.box), ProbabilityFake: f.claim.probability(t.logOdds)})
		}
		if !p.box.Empty() {
			one.Box = corners(p.box)
		}
		out.Pieces = append(out.Pieces, one)
	}
	return out
}

// corners is a box as the report has it.
func corners(box image.Rectangle) []int { return []int{box.Min.X, box.Min.Y, box.Dx(), box.Dy()} }

// inOriginal is a box of a frame in pixels of the original, of which the report tells the
// size: a frame may be smaller.
func inOriginal(box image.Rectangle, frame preprocess.Frame, media *preprocess.Media) image.Rectangle {
	scale := func(p image.Point) image.Point {
		return image.Pt(scaled(p.X, media.Width, frame.Width), scaled(p.Y, media.Height, frame.Height))
	}
	return image.Rectangle{Min: scale(box.Min), Max: scale(box.Max)}
}

func scaled(v, to, from int) int { return int(math.Round(float64(v) * float64(to) / float64(from))) }

// judging are the tasks that the loaded models judge.
func (d *Detector) judging() []models.Task {
	return slices.DeleteFunc(models.Tasks(), func(t models.Task) bool { return !t.Judges() || len(d.judges[t]) == 0 })
}

// judge runs every task that has something to judge, side by side.
func (d *Detector) judge(ctx context.Context, req Request, media *preprocess.Media, sound *hearing) ([]finding, error) {
	tasks := d.judging()
	found := make([]finding, len(tasks))
	g, ctx := errgroup.WithContext(ctx)
	for i, t := range tasks {
		g.Go(func() error {
			return guarded(func() (err error) {
				found[i], err = d.judgeTask(ctx, req, media, sound, t)
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(f finding) bool { return len(f.pieces) == 0 }), nil
}

// judgeTask judges the pieces of one task with each of its models and pools
// them: over the faces of a frame or stretch, then over time, then over the models of
// the task.
func (d *Detector) judgeTask(ctx context.Context, req Request, media *preprocess.Media, sound *hearing, t models.Task) (finding, error) {
	f := finding{task: t, claim: claim{prior: logit(d.opts.Prior)}}
	var err error
	if t == models.SpeechSynthesis {
		media.Heard()
		f.pieces, f.speech, err = sound.pieces(media)
	} else {
		f.pieces, err = d.pieces(ctx, req, media, t)
	}
	if err != nil || len(f.pieces) == 0 {
		return f, errors.Join(err, ctx.Err())
	}
	cards := d.judges[t]
	outputs := func(c models.Card) (judgement, error) { return d.look(ctx, req, media, c, f.pieces) }
	if t == models.SpeechSynthesis {
		outputs = func(c models.Card) (judgement, error) { return judgement{logits: sound.outputs(c, f.pieces)}, nil }
	}
	each := make([][]piece, 0, len(cards))
	for _, c := range cards {
		judged, err := outputs(c)
		if err != nil {
			return f, err
		}
		own := slices.Clone(f.pieces)
		for i, z := range judged.logits {
			own[i].logOdds = calibrated(calibrationOf(c, media, own[i]), z)
		}
		f.add(c, own, len(cards))
		f.addLikeness(judged.likeness)
		each = append(each, own)
	}
	if t == models.SpeechSynthesis {
		f.restOn(worst(cards, media, each))
	}
	f.threshold = taskThreshold(cards, media.Kind, req.Sensitivity)
	return f, nil
}

// add takes in what one of n models says of the pieces. No more of it may be told than that model's
// validation supports: with limits that are averaged apart, a weak one that is sure would speak by those of
// a strong one.
func (f *finding) add(c models.Card, own []piece, n int) {
	var limits claim
	limits.low, limits.high = c.Limits()
	for i, p := range own {
		f.pieces[i].told += limits.bound(p.logOdds) / float64(n)
	}
	whole := overTime(own)
	f.logOdds += whole / float64(n)
	f.told += limits.bound(whole) / float64(n)
	f.claim.low += limits.low / float64(n)
	f.claim.high += limits.high / float64(n)
}

// addLikeness takes in how like its training media the pieces are to one model.
func (f *finding) addLikeness(likeness []float64) {
	if len(likeness) == 0 {
		return
	}
	if whole := mean(likeness); f.likeness == nil || whole < *f.likeness {
		f.likeness = &whole
	}
}

// calibrationOf is a model's calibration for a piece: that of a frame as a whole goes by its size.
func calibrationOf(c models.Card, media *preprocess.Media, p piece) models.Calibration {
	if c.Task != models.ImageSynthesis {
		return c.Calibration
	}
	return c.Calibration.At(min(media.Frames[p.frame].Width, media.Frames[p.frame].Height))
}

// look has a model judge pieces of frames or stretches.
func (d *Detector) look(ctx context.Context, req Request, media *preprocess.Media, c models.Card, pieces []piece) (judgement, error) {
	w := d.work(media, c, pieces)
	w.work.Account, w.work.Priority = req.Account, req.Priority
	outputs, err := d.parts.Scheduler.Run(ctx, w.work)
	if err != nil {
		return judgement{}, err
	}
	if len(pieces) == 1 && len(d.judges[c.Task]) == 1 {
		pieces[0].tiles = w.judgedTiles(outputs, calibrationOf(c, media, pieces[0]))
	}
	return w.pool(outputs), nil
}

// overTime pools the pieces of each frame, or stretch, and then these.
func overTime(pieces []piece) float64 {
	var frames, same []float64
	for i, p := range pieces {
		same = append(same, p.logOdds)
		if i+1 == len(pieces) || pieces[i+1].frame != p.frame {
			frames = append(frames, anyOf(same))
			same = same[:0]
		}
	}
	return mean(frames)
}

// pieces lists what a task of pictures finds in the media, frame by frame.
func (d *Detector) pieces(ctx context.Context, req Request, media *preprocess.Media, t models.Task) ([]piece, error) {
	var out []piece
	switch t {
	case models.FaceManipulation:
		found, err := d.faces(ctx, req, media.Frames)
		if err != nil {
			return nil, err
		}
		for i, faces := range found {
			for _, box := range faces {
				f := media.Frames[i]
				out = append(out, piece{frame: i, seconds: f.At.Seconds(), track: []image.Rectangle{box}, box: inOriginal(box, f, media)})
			}
		}
	case models.FaceMotion:
		return d.motions(ctx, req, media)
	default:
		if empty(media) {
			return nil, nil
		}
		for i, f := range media.Frames {
			out = append(out, piece{frame: i, seconds: f.At.Seconds()})
		}
	}
	return out, nil
}
