package main

import (
	"errors"
	"fmt"
	"math"

	"deepfaked/inference/face"
	"deepfaked/inference/ort"
	"deepfaked/models"
	"deepfaked/preprocess"
)

// most is the number of rows of one run at most, which is more than a file has.
const most = 8

// sessions are one of each model, by its task.
type sessions map[models.Task]*ort.Session

// jury judges files, as many at a time as there are sessions of a model.
type jury struct {
	cards  map[models.Task]models.Card
	fusion *models.Fusion
	free   chan sessions
}

// answer is what a client is told.
type answer struct {
	Verdict         string          `json:"verdict"`
	Confidence      float64         `json:"confidence"`
	ProbabilityFake float64         `json:"probability_fake"`
	Kind            preprocess.Kind `json:"media_type"`
}

func newJury(opts ort.Options) (*jury, error) {
	environment, err := ort.Open(opts)
	if err != nil {
		return nil, err
	}
	builtin, err := models.Builtin()
	if err != nil {
		return nil, err
	}
	whole := models.Whole(builtin)
	j := &jury{cards: map[models.Task]models.Card{}, free: make(chan sessions, opts.Sessions)}
	if j.fusion, err = fusionOf(whole); err != nil {
		return nil, err
	}
	for range opts.Sessions {
		each := sessions{}
		for _, m := range whole {
			if v := m.In(fastest(opts.Provider)); v != nil {
				m = v
			}
			j.cards[m.Card.Task] = m.Card
			if each[m.Card.Task], err = environment.NewSession(m, most); err != nil {
				return nil, err
			}
		}
		j.free <- each
	}
	return j, nil
}

// fusionOf is the built-in fusion of the models.
func fusionOf(all []*models.Model) (*models.Fusion, error) {
	var cards []models.Card
	for _, m := range all {
		cards = append(cards, m.Card)
	}
	f, err := models.BuiltinFusion(cards)
	if err == nil && f == nil {
		err = errors.New("no built-in fusion was fitted with the built-in models")
	}
	return f, err
}

// fastest is the precision that the service chooses where it is free to.
func fastest(p ort.Provider) models.Precision {
	if p == ort.CPU {
		return models.Int8
	}
	return models.TF32
}

func (j *jury) judge(content []byte) (answer, error) {
	m, err := decoded(content)
	if err != nil {
		return answer{}, err
	}
	switch {
	case len(m.frames) == 1 && len(m.windows) == 0:
		return j.picture(m.frames[0])
	case len(m.frames) == 0 && len(m.windows) > 0 && len(m.windows) <= most:
		return j.sound(m.windows)
	}
	return answer{}, errors.New("the file is neither a picture nor a short sound")
}

func (j *jury) picture(f preprocess.Frame) (answer, error) {
	card, finder := j.cards[models.ImageSynthesis], j.cards[models.FaceDetection]
	side := int(finder.Input.Shape[1])
	view := face.Look(f, side)
	held := <-j.free
	defer func() { j.free <- held }()
	mean, err := look(f, card, held[models.ImageSynthesis])
	if err != nil {
		return answer{}, err
	}
	view.Fill(held[models.FaceDetection].Row(0).U8, side)
	boxes, err := held[models.FaceDetection].Run(1)
	if err != nil {
		return answer{}, err
	}
	if faces := view.Boxes(boxes, *finder.Detection, face.Options{Smallest: 80, Most: 8}); len(faces) > 0 {
		return answer{}, fmt.Errorf("the picture shows %d faces, which only deepfaked judges", len(faces))
	}
	alone := j.fusion.Calibration(1)
	own := card.Calibration.At(min(f.Width, f.Height))
	logOdds := alone.Scale*(own.Scale*mean+own.Bias) + alone.Bias
	return told(preprocess.Image, logOdds, alone.Limits[0], alone.Limits[1], j.fusion.PointsOf("image")), nil
}

// look is the output of the picture model for a picture.
func look(f preprocess.Frame, card models.Card, session *ort.Session) (float64, error) {
	side := int(card.Input.Shape[1])
	n, err := fillTiles(f, side, card.Preprocessing.Tiles, session)
	if err != nil {
		return 0, err
	}
	whole := 0 // rows
	if card.Preprocessing.Overview {
		if whole, err = fillOverview(f, side, n, session); err != nil {
			return 0, err
		}
	}
	logits, err := session.Run(n + whole)
	if err != nil {
		return 0, err
	}
	mean := average(logits[:n])
	for _, z := range logits[n:] {
		mean = (mean + float64(z)) / 2
	}
	return mean, nil
}

func (j *jury) sound(windows [][]float32) (answer, error) {
	card := j.cards[models.SpeechSynthesis]
	held := <-j.free
	defer func() { j.free <- held }()
	for i, w := range windows {
		copy(held[models.SpeechSynthesis].Row(i).F32, w)
	}
	logits, err := held[models.SpeechSynthesis].Run(len(windows))
	if err != nil {
		return answer{}, err
	}
	low, high := card.Limits()
	return told(preprocess.Audio, card.Calibration.Scale*average(logits)+card.Calibration.Bias, low, high, card.PointsOf("audio")), nil
}

func average(values []float32) (mean float64) {
	for _, v := range values {
		mean += float64(v) / float64(len(values))
	}
	return mean
}

func told(kind preprocess.Kind, logOdds, low, high float64, points models.OperatingPoints) answer {
	threshold := points["balanced"].Threshold
	bound := func(logOdds float64) float64 { return min(max(logOdds, low), high) }
	probability := func(logOdds float64) float64 { return 1 / (1 + math.Exp(-logOdds)) }
	line := math.Log(threshold / (1 - threshold))
	verdict, beyond := "real", bound(line)-bound(logOdds)
	if logOdds >= line {
		verdict, beyond = "fake", -beyond
	}
	confidence := min(math.Round(probability(max(beyond, 0))*1e4)/1e4, .9999)
	return answer{verdict, confidence, probability(bound(logOdds)), kind}
}
