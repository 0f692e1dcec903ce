package inference

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// Decoder turns a file into frames and windows, and tells of all windows as soon
// as they are there.
type Decoder interface {
	// Inspect says without decoding what Decode would say of the file's beginning.
	Inspect(f io.ReaderAt, size int64, declared preprocess.Kind) error
	Decode(ctx context.Context, f *os.File, size int64, declared preprocess.Kind, tell preprocess.Listener) (*preprocess.Media, error)
}

// Parts are what a Detector is made of. It closes none of them.
type Parts struct {
	Decoder   Decoder
	Scheduler *Scheduler
	Cards     []models.Card  // of the models that the scheduler's executors hold
	Fusion    *models.Fusion // of some of them; left out of account where it was fitted with others, and may be nil
	Provider  string         // ONNX Runtime's execution provider, for the report
	// FixedShapes has all rows of a model be of one shape, whatever they show: for GPUs.
	FixedShapes bool
}

// Detector is the one use case of the service: a file in, a verdict out.
// Synchronous calls, jobs and the command line all go through it. It is safe for
// concurrent use.
type Detector struct {
	parts   Parts
	opts    DetectorOptions
	judges  map[models.Task][]models.Card
	stretch int            // frames that the models of motion are shown at a time; 0 without one
	finder  models.Card    // of faces
	voice   models.Card    // finds speech
	fusion  *models.Fusion // nil: none
	gate    *gate
}

// NewDetector checks that every task has a model, unless it is optional: no score is
// invented for a task without one. Those of motion must agree on how many frames they are
// shown. Of several models that find faces, or speech, the last is used.
func NewDetector(parts Parts, opts DetectorOptions) (*Detector, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	judges := map[models.Task][]models.Card{}
	for _, c := range parts.Cards {
		judges[c.Task] = append(judges[c.Task], c)
	}
	for _, t := range models.Tasks() {
		if len(judges[t]) == 0 && !t.Optional() {
			return nil, fmt.Errorf("no model of the task %s is loaded; add one with --models DIR", t)
		}
	}
	stretch, err := models.StretchFrames(parts.Cards)
	if err != nil {
		return nil, err
	}
	return &Detector{parts: parts, opts: opts, judges: judges, stretch: stretch, finder: *models.Used(parts.Cards, models.FaceDetection), voice: *models.Used(parts.Cards, models.VoiceActivity), fusion: usableFusion(parts.Fusion, parts.Cards), gate: newGate(opts)}, nil
}

// Detect judges one file. Its errors are *preprocess.Error when the file is at
// fault, *SaturatedError when there is too much work, ErrTooLong when there is none but
// the file's, those of ctx and of req.Admitted, and *FaultError when none of these is to blame.
func (d *Detector) Detect(ctx context.Context, req Request) (result Result, err error) {
	req.Sensitivity = cmp.Or(req.Sensitivity, Balanced)
	if err := d.inspect(req); err != nil {
		return Result{}, err
	}
	leave, err := d.gate.enter(ctx, req)
	if err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // what is still being judged when there is an error
	clock := stopwatch{last: time.Now(), took: map[string]int64{}}
	media := preprocess.NewMedia(nil)
	// Giving the memory of a video back takes milliseconds that nobody need wait
	// for. Until it is done its place is taken.
	defer func() {
		judged := result.Verdict != ""
		go func() {
			defer leave(judged)
			media.Close()
		}()
	}()
	sound := newHearing(d, req)
	decoded, err := d.decode(ctx, req, sound)
	if err != nil {
		return Result{}, err
	}
	media = decoded
	clock.lap("decode")
	findings, err := d.judge(ctx, req, media, sound)
	if err != nil {
		return Result{}, d.fault(ctx, req, err)
	}
	clock.lap("judge")
	return d.conclude(req, media, findings, clock.took), nil
}

func (d *Detector) decode(ctx context.Context, req Request, sound *hearing) (*preprocess.Media, error) {
	var file *os.File
	if req.File != nil {
		var err error
		if file, err = req.File.Rewind(); err != nil {
			return nil, err
		}
	}
	media, err := d.parts.Decoder.Decode(ctx, file, req.Size, req.Declared, sound.listen)
	if err != nil {
		return nil, d.fault(ctx, req, err)
	}
	return media, nil
}

// inspect refuses a file whose beginning is at fault: it need not wait for a place, and
// takes none in the books.
func (d *Detector) inspect(req Request) error {
	if req.File == nil {
		return nil // which is the decoder's to say
	}
	return d.parts.Decoder.Inspect(req.File, req.Size, req.Declared)
}

// conclude fuses the findings of all tasks and draws the line.
func (d *Detector) conclude(req Request, media *preprocess.Media, findings []finding, took map[string]int64) Result {
	report := d.describe(req, media, findings, took)
	if len(findings) == 0 {
		return notApplicable(media.Kind, report)
	}
	e := fuse(d.weigh(media.Kind, findings))
	whole := claim{low: e.low, high: e.high, prior: logit(d.opts.Prior)}
	told := whole.decide(e.logOdds, e.told, e.thresholds[req.Sensitivity])
	report.LogOdds, report.ProbabilityFake = e.logOdds, whole.probability(e.told)
	report.Threshold, report.SupposedShare = told.threshold, told.share
	lines := decisions(whole, e)
	report.Thresholds = thresholds(lines)
	report.Assessment = assess(told.verdict, whole.bound(e.told), report.Reasons)
	return Result{
		Verdict: told.verdict, Confidence: told.confidence, Kind: media.Kind, Report: report, Decisions: lines,
	}
}

// describe is the report but for what the findings come to.
func (d *Detector) describe(req Request, media *preprocess.Media, findings []finding, took map[string]int64) Report {
	left := leftOut(media)
	report := Report{
		Reasons:     reasons(media, findings, left),
		Sensitivity: req.Sensitivity, Prior: d.opts.Prior, Format: media.Format, Width: media.Width, Height: media.Height,
		DurationSeconds: media.Duration.Seconds(), Notes: notes(left), Provider: d.parts.Provider, Timings: took,
		Findings: []Finding{}, Models: []ModelUsed{},
	}
	for _, f := range findings {
		report.Findings = append(report.Findings, f.report())
		report.Models = append(report.Models, used(d.judges[f.task], media.Kind, req.Sensitivity)...)
	}
	if len(media.Windows) > 0 && !mute(media) {
		report.Models = append(report.Models, foundBy(d.voice, d.voice.Activity.Threshold))
	}
	if slices.ContainsFunc(findings, finding.ofFaces) {
		report.Models = append(report.Models, foundBy(d.finder, d.finder.Detection.Threshold))
	}
	report.ErrorRates = d.errorRates(media.Kind, findings, req.Sensitivity)
	report.Fusion = d.fused(media.Kind, findings, req.Sensitivity)
	return report
}

func notes(list []preprocess.Note) []Note {
	out := make([]Note, 0, len(list))
	for _, n := range list {
		out = append(out, Note{Code: n, Message: n.Message()})
	}
	return out
}

func used(cards []models.Card, kind preprocess.Kind, s Sensitivity) []ModelUsed {
	out := make([]ModelUsed, 0, len(cards))
	for _, c := range cards {
		p := c.PointsOf(string(kind))[string(s)]
		out = append(out, ModelUsed{
			Name: c.Name, Version: c.Version, SHA256: c.SHA256,
			Threshold: p.Threshold, FalsePositiveRate: p.FalsePositiveRate, DetectionRate: p.DetectionRate,
		})
	}
	return out
}

// foundBy is what the report says of a model that found what was judged.
func foundBy(c models.Card, threshold float64) ModelUsed {
	return ModelUsed{Name: c.Name, Version: c.Version, SHA256: c.SHA256, Threshold: threshold}
}

// stopwatch collects the microseconds of each stage.
type stopwatch struct {
	last time.Time
	took map[string]int64
}

func (s *stopwatch) lap(stage string) {
	now := time.Now()
	s.took[stage] = now.Sub(s.last).Microseconds()
	s.last = now
}
