package models

import "strings"

// validCard is a card that passes; each case spoils one thing.
func validCard() Card {
	return Card{
		Schema: 1, Name: "tiny-image", Version: "1", Task: ImageSynthesis,
		File: "model.onnx", SHA256: strings.Repeat("0", 64),
		Input:         Tensor{Name: "x", Type: "uint8", Shape: []int64{-1, 2, 2, 3}},
		Output:        Tensor{Name: "y", Type: "float32", Shape: []int64{-1, 1}},
		Preprocessing: Preprocessing{Tiles: 4},
		Calibration:   Calibration{Method: "platt", Scale: 1.5, Bias: -0.2},
		OperatingPoints: map[string]OperatingPoint{
			"strict":    {FalsePositiveRate: .01, Threshold: .9, DetectionRate: new(.3), DetectionInterval: &Pair{.2, .4}},
			"balanced":  {FalsePositiveRate: .05, Threshold: .6, DetectionRate: new(.5), DetectionInterval: &Pair{.4, .6}},
			"sensitive": {FalsePositiveRate: .15, Threshold: .4, DetectionRate: new(.7), DetectionInterval: &Pair{.6, .8}},
		},
		Measured: []Measurement{{Set: "held out", Condition: "clean", AUC: .8, AUCInterval: [2]float64{.7, .9}, EER: .2, Real: 10, Fake: 10}},
		Training: Training{Recipe: "scripts/train/tiny", Sources: []Source{{Name: "a", Licence: "CC0-1.0"}}},
		Licences: Licences{Code: "Apache-2.0", Weights: "Apache-2.0", Data: "CC0-1.0"},
		Golden:   Golden{Pattern: "lcg", Output: 0.25, Tolerance: 1e-3},
	}
}

// halved is validCard with a variant in 8 bits.
func halved() Card {
	c := validCard()
	c.Variants = []Variant{{
		Precision: Int8, File: "model-int8.onnx", SHA256: strings.Repeat("1", 64),
		Golden: Golden{Pattern: "lcg", Output: 0.26, Tolerance: 1e-2}, Measured: c.Measured,
	}}
	return c
}

func speechCard() Card {
	c := validCard()
	c.Task = SpeechSynthesis
	c.Input = Tensor{Name: "x", Type: "float32", Shape: []int64{-1, 64000}}
	c.Preprocessing = Preprocessing{SampleRate: 16000, WindowSamples: 64000}
	return c
}

func faceCard() Card {
	c := validCard()
	c.Task = FaceManipulation
	c.Preprocessing = Preprocessing{Margin: 1.3}
	return c
}

func surroundedCard() Card {
	c := faceCard()
	c.Input.Shape, c.Preprocessing.Surround = []int64{-1, 2, 2, 2, 3}, 2.6
	return c
}

// surrounded spoils a card of a model of faces that is shown what is about them.
func surrounded(spoil func(*Card)) func(*Card) {
	return func(c *Card) {
		*c = surroundedCard()
		spoil(c)
	}
}

func motionCard() Card {
	c := faceCard()
	c.Task = FaceMotion
	c.Input.Shape = []int64{-1, 30, 2, 2, 3}
	c.Preprocessing.Frames = 30
	return c
}

// motion spoils a card of a model of motion.
func motion(spoil func(*Card)) func(*Card) {
	return func(c *Card) {
		*c = motionCard()
		spoil(c)
	}
}

func finderCard() Card {
	c := validCard()
	c.Task = FaceDetection
	c.Output.Shape = []int64{-1, 3, 5}
	c.Preprocessing, c.Calibration, c.OperatingPoints, c.Measured = Preprocessing{}, Calibration{}, nil, nil
	c.Detection = &Detection{Threshold: .5, Overlap: .4, Measured: []BoxMeasurement{{
		Set: "held out", Condition: "clean", Pictures: 10, Faces: 12,
		Precision: .9, PrecisionInterval: [2]float64{.8, 1}, Recall: .8, RecallInterval: [2]float64{.7, .9},
	}}}
	return c
}

func hearerCard() Card {
	c := finderCard()
	c.Task, c.Detection = VoiceActivity, nil
	c.Input = Tensor{Name: "samples", Type: "float32", Shape: []int64{-1, 64}}
	c.Output.Shape = []int64{-1, 4}
	c.Preprocessing = Preprocessing{SampleRate: soundRate, WindowSamples: 64}
	c.Activity = &Activity{Threshold: .5, Steps: 2, Measured: []HeardMeasurement{{Set: "tones", Sounds: 3}}}
	return c
}

// hearer spoils a card of a model that finds speech.
func hearer(spoil func(*Card, *Activity)) func(*Card) {
	return func(c *Card) {
		*c = hearerCard()
		spoil(c, c.Activity)
	}
}

// finder spoils a card of a model that finds faces.
func finder(spoil func(*Card, *Detection)) func(*Card) {
	return func(c *Card) {
		*c = finderCard()
		spoil(c, c.Detection)
	}
}

func setPoint(c *Card, level string, edit func(*OperatingPoint)) {
	p := c.OperatingPoints[level]
	edit(&p)
	c.OperatingPoints[level] = p
}

// sourced is a card with what becomes of one generator's files.
func sourced() Card {
	c := validCard()
	c.BySource = []SourceFigures{{Name: "gan", Repository: "a/b", Label: "fake", Items: 4, Balanced: []float64{.5, .25}, Sensitive: []float64{1, 1}}}
	return c
}

func source(spoil func(*SourceFigures)) func(*Card) {
	return func(c *Card) { *c = sourced(); spoil(&c.BySource[0]) }
}
