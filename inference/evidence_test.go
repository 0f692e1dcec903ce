package inference

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// fusion calibrates what the test detector's models of pictures say together.
func fusion(version string) *models.Fusion {
	return &models.Fusion{
		Schema: 1,
		Models: []models.FusedModel{
			{Task: models.ImageSynthesis, Name: string(models.ImageSynthesis), Version: version},
			{Task: models.FaceManipulation, Name: string(models.FaceManipulation), Version: version},
		},
		Alone:    models.Calibration{Method: "platt", Scale: .5, Bias: .25, Limits: &models.Pair{-3, 1}},
		Together: models.Calibration{Method: "platt", Scale: 2, Bias: -.5, Limits: &models.Pair{-3, 1.5}},
		OperatingPoints: map[string]models.OperatingPoint{
			"strict": {Threshold: sigmoid(3)}, "balanced": {Threshold: sigmoid(.5)}, "sensitive": {Threshold: sigmoid(.2)},
		},
	}
}

// The tasks that look at a picture are judged together, and are one of the ways
// in which a film can be fake.
func TestFusion(t *testing.T) {
	t.Parallel()
	fake := math.Exp(4.0)
	for _, c := range []struct {
		name      string
		fusion    *models.Fusion
		media     *preprocess.Media
		boxes     []float32
		logOdds   float64
		threshold float64 // log-odds, as it may be told
	}{
		{"picture", fusion("1"), media(preprocess.Image, []preprocess.Frame{grey(100, 0)}, nil), noFaces, .5 + .25, .5},
		{"with a face", fusion("1"), media(preprocess.Image, []preprocess.Frame{grey(100, 0)}, nil), oneFace, 2 - .5, .5},
		{"fitted with other models", fusion("2"), media(preprocess.Image, []preprocess.Frame{grey(100, 0)}, nil), oneFace, 1, logit(.7)},
		{"none", nil, media(preprocess.Image, []preprocess.Frame{grey(100, 0)}, nil), oneFace, 1, logit(.7)},
		{"sound has no part in it", fusion("1"), media(preprocess.Audio, nil, []preprocess.Window{voice(4)}), noFaces, 4, logit(.7)},
		{
			"a film with sound", fusion("1"),
			media(preprocess.Video, []preprocess.Frame{grey(100, 0)}, []preprocess.Window{voice(4)}), noFaces,
			math.Log((math.Exp(.75) + fake) / 2), math.Log((math.Exp(.5) + math.Exp(logit(.7))) / 2),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newTestDetector(t, c.media, c.boxes)
			d.fusion = usableFusion(c.fusion, d.parts.Cards)
			got, err := d.Detect(t.Context(), Request{})
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.Report.LogOdds-c.logOdds) > 1e-3 || math.Abs(logit(got.Report.Threshold)-c.threshold) > 1e-3 {
				t.Errorf("log-odds of %.4f against %.4f, want %.4f against %.4f",
					got.Report.LogOdds, logit(got.Report.Threshold), c.logOdds, c.threshold)
			}
			if want := c.logOdds >= c.threshold; (got.Verdict == Fake) != want {
				t.Errorf("the verdict is %s", got.Verdict)
			}
		})
	}
}

// A picture is decided at the fusion's line, and nothing that the service told named
// it or its rates: the report had those of the two models, which decide nothing there.
func TestTheReportNamesTheFusion(t *testing.T) {
	t.Parallel()
	picture := func() *preprocess.Media { return media(preprocess.Image, []preprocess.Frame{grey(100, 0)}, nil) }
	for _, c := range []struct {
		name  string
		media *preprocess.Media
		boxes []float32
		want  *FusionUsed
	}{
		{"picture", picture(), noFaces, &FusionUsed{Tasks: []string{"image-synthesis"}, Scale: .5, Bias: .25}},
		{"with a face", picture(), oneFace, &FusionUsed{Tasks: []string{"image-synthesis", "face-manipulation"}, Scale: 2, Bias: -.5}},
		{"sound", media(preprocess.Audio, nil, []preprocess.Window{voice(4)}), noFaces, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newTestDetector(t, c.media, c.boxes)
			d.fusion = fusion("1")
			d.fusion.OperatingPoints["strict"] = models.OperatingPoint{Threshold: .9, FalsePositiveRate: .01, DetectionRate: new(.2)}
			got, err := d.Detect(t.Context(), Request{Sensitivity: Strict})
			if err != nil {
				t.Fatal(err)
			}
			if c.want != nil {
				c.want.Threshold, c.want.FalsePositiveRate, c.want.DetectionRate = .9, .01, new(.2)
			}
			assert.Equal(t, c.want, got.Report.Fusion)
		})
	}
}

// The lines of the fusion decide, and nobody could read them: what is in force is told,
// and what was fitted with other models is not.
func TestFusionInForce(t *testing.T) {
	t.Parallel()
	parts := newTestDetector(t, media(preprocess.Image, nil, nil), noFaces).parts
	for version, holds := range map[string]bool{"1": true, "2": false} {
		parts.Fusion = fusion(version)
		d, err := NewDetector(parts, DefaultDetectorOptions())
		if err != nil {
			t.Fatal(err)
		}
		assert.Equal(t, holds, d.Fusion() == parts.Fusion)
		assert.Equal(t, holds, d.Fusion() != nil)
	}
}

// Genuine films score lower than genuine pictures, so that the one line which both
// shared found a third of the generated films where their own finds half.
func TestLinesOfAMedium(t *testing.T) {
	t.Parallel()
	own := map[string]models.OperatingPoints{"video": {
		"strict": {Threshold: .8}, "balanced": {Threshold: .6, FalsePositiveRate: .05, DetectionRate: new(.5)}, "sensitive": {Threshold: .2},
	}}
	for _, c := range []struct {
		kind        preprocess.Kind
		fused       bool
		line, model float64 // P(fake) of the verdict and of the model
	}{
		{preprocess.Image, true, sigmoid(.5), .7},
		{preprocess.Video, true, .6, .6},
		{preprocess.Image, false, .7, .7},
		{preprocess.Video, false, .6, .6},
	} {
		d := newTestDetector(t, media(c.kind, []preprocess.Frame{grey(100, 0)}, nil), noFaces)
		for _, cards := range d.judges {
			cards[0].ByMedium = own
		}
		if c.fused {
			d.fusion = fusion("1")
			d.fusion.ByMedium = own
		}
		got, err := d.Detect(t.Context(), Request{})
		if err != nil {
			t.Fatal(err)
		}
		r := got.Report
		assert.InDeltaSlice(t, []float64{c.line, c.line, c.model, c.model}, []float64{
			r.Threshold, got.Decisions[Balanced].Threshold, r.Findings[0].Threshold, r.Models[0].Threshold,
		}, 1e-9, "%s, fused: %t", c.kind, c.fused)
		if c.fused {
			assert.InDelta(t, c.line, r.Fusion.Threshold, 1e-9)
		}
	}
}

// Of a clip whose face alone is manipulated the picture model says that it is genuine. A
// weighted sum took that from what the face model says: of clips of faces by unseen methods
// 38 % were found at 5 % false alarms, where the mean of the odds finds 51 %.
func TestOneTaskSuffices(t *testing.T) {
	t.Parallel()
	d := newTestDetector(t, media(preprocess.Image, nil, nil), noFaces)
	d.fusion = fusion("1")
	e := d.together(preprocess.Video, []finding{{task: models.ImageSynthesis, logOdds: -9}, {task: models.FaceManipulation, logOdds: 3}})
	assert.InDelta(t, 2*(3-math.Ln2)-.5, e.logOdds, 1e-4)
}

// What is told of fused pictures ends at the limits of the fusion.
func TestFusionIsLimited(t *testing.T) {
	t.Parallel()
	for limit, boxes := range map[float64][]float32{1: noFaces, 1.5: oneFace} {
		d := newTestDetector(t, media(preprocess.Image, []preprocess.Frame{grey(250, 0)}, nil), boxes)
		d.fusion = fusion("1")
		d.fusion.OperatingPoints["strict"] = models.OperatingPoint{Threshold: sigmoid(1.25)}
		got, err := d.Detect(t.Context(), Request{})
		if err != nil {
			t.Fatal(err)
		}
		assert.InDelta(t, limit, logit(got.Report.ProbabilityFake), 1e-6, "log-odds that are told")
		assert.Equal(t, Fake, got.Decisions[Strict].Verdict, "a limit has moved a verdict") // 1.5 and 4.5 are above 1.25
	}
}

// Pictures that were taken for fake beyond their limit were told with more confidence where
// there was a genuine voice beside them than without: the limits were fused by themselves,
// so that what pictures said beyond theirs was told on the voice's account.
func TestNoTaskSpeaksBeyondItsLimitForAnother(t *testing.T) {
	t.Parallel()
	pictures, voice := evidence{low: -2.6, high: 3.9}, evidence{low: -3.2, high: 4.7}
	for _, c := range []struct{ pictures, voice, want float64 }{
		{9, -9, math.Log((math.Exp(3.9) + math.Exp(-3.2)) / 2)},
		{9, 9, math.Log((math.Exp(3.9) + math.Exp(4.7)) / 2)},
		{-9, -1, math.Log((math.Exp(-2.6) + math.Exp(-1)) / 2)},
		{-9, -9, math.Log((math.Exp(-2.6) + math.Exp(-3.2)) / 2)},
		{2, 1, math.Log((math.Exp(2) + math.Exp(1)) / 2)},
	} {
		for e, logOdds := range map[*evidence]float64{&pictures: c.pictures, &voice: c.voice} {
			e.logOdds, e.told = logOdds, claim{low: e.low, high: e.high}.bound(logOdds)
		}
		e := fuse([]evidence{pictures, voice})
		told := logit(claim{low: e.low, high: e.high}.probability(e.told))
		assert.InDelta(t, c.want, told, 1e-6, "of %v and %v", c.pictures, c.voice)
		assert.InDelta(t, anyOf([]float64{c.pictures, c.voice}), e.logOdds, 1e-9, "what decides has no limits")
	}
}

// Of a fake film with a plainly genuine voice the threshold was told that its own P(fake) was, whatever the
// sensitivity: what the voice said beyond its limit bounded the lines, too.
func TestThresholdsHangOnNoScore(t *testing.T) {
	t.Parallel()
	lines := map[Sensitivity]float64{Strict: 2, Balanced: 1, Sensitive: .2}
	for _, voice := range []float64{-3, -9} {
		limits := claim{low: -3.2, high: 4.7}
		whole := fuse([]evidence{
			{logOdds: 4, told: 3.9, low: -2.6, high: 3.9, thresholds: lines},
			{logOdds: voice, told: limits.bound(voice), low: limits.low, high: limits.high, thresholds: lines},
		})
		for s, d := range decisions(claim{low: whole.low, high: whole.high}, whole) {
			assert.Equal(t, Fake, d.Verdict)
			assert.InDelta(t, lines[s], logit(d.Threshold), 1e-9, "%s, the voice at %v", s, voice)
		}
	}
	// It moves where it would contradict the verdict.
	c := claim{low: -2, high: 2}
	assert.Equal(t, said{Fake, .5, sigmoid(-1), sigmoid(.5)}, c.decide(1.1, .5, 1))
	assert.Equal(t, said{Real, .5, sigmoid(-1), sigmoid(1.5)}, c.decide(.9, 1.5, 1))
}

// A weak model beside a strong one of the same task, far beyond what its own validation supports, was
// told with the certainty that the strong one's does.
func TestAWeakModelSpeaksForItself(t *testing.T) {
	t.Parallel()
	limited := func(low, high float64) models.Card {
		return models.Card{Calibration: models.Calibration{Limits: &models.Pair{low, high}}}
	}
	f := finding{pieces: []piece{{frame: 0}, {frame: 1}}}
	f.add(limited(-3.2, 4.7), []piece{{frame: 0, logOdds: 1}, {frame: 1, logOdds: -1}}, 2)
	f.add(limited(-.5, .5), []piece{{frame: 0, logOdds: 8}, {frame: 1, logOdds: 6}}, 2)
	assert.InDelta(t, .25, f.told, 1e-9)
	assert.InDelta(t, .75, f.pieces[0].told, 1e-9)
	assert.InDelta(t, -.25, f.pieces[1].told, 1e-9)
	assert.InDelta(t, 3.5, f.logOdds, 1e-9)
}

// Where two models each took another of two faces for manipulated, what was told came of what each says of
// the file, P(fake) .96, and what decided of their mean for each face, .5: the file was called real, with a
// confidence of .04.
func TestModelsThatDisagreeAboutFaces(t *testing.T) {
	t.Parallel()
	c := models.Card{Calibration: models.Calibration{Limits: &models.Pair{-9, 9}}}
	f := finding{pieces: []piece{{frame: 0}, {frame: 0}}}
	f.add(c, []piece{{frame: 0, logOdds: 4}, {frame: 0, logOdds: -4}}, 2)
	f.add(c, []piece{{frame: 0, logOdds: -4}, {frame: 0, logOdds: 4}}, 2)
	assert.InDelta(t, anyOf([]float64{4, -4}), f.logOdds, 1e-9)
	assert.InDelta(t, f.logOdds, f.told, 1e-9, "nothing of it is beyond what validation supports")
	assert.Equal(t, Fake, f.claim.decide(f.logOdds, f.told, logit(.75)).verdict)
}
