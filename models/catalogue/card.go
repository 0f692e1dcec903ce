package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"deepfaked/models"
	"deepfaked/models/adapt"
)

// Adaptation makes a model folder of a detector that is published as ONNX,
// without a conversion in another framework.
type Adaptation struct {
	File string `json:"file"` // name of the ONNX file among the entry's
	adapt.Spec
	Bias  float64 `json:"bias,omitempty"`  // that its authors add to the logit
	Point *Point  `json:"point,omitempty"` // the one operating point that they state
}

// Point is an operating point as authors state it.
type Point struct {
	Threshold         float64 `json:"threshold"` // on the probability of fake
	FalsePositiveRate float64 `json:"false_positive_rate"`
	DetectionRate     float64 `json:"detection_rate"`
}

// graphFile is the name of the adapted graph in its folder.
const graphFile = "model.onnx"

// Card describes the graph that adapt.Wrap made of the entry's file; its
// self-test's output is left to whoever can run it. Authors state one operating
// point or none, so all sensitivities have the same. No share of false alarms is aimed at,
// and what nobody has measured is left out or may be anything: such a card promises nothing.
func (e Entry) Card(onnx []byte, input, output models.Tensor) models.Card {
	sum := sha256.Sum256(onnx)
	point := models.OperatingPoint{Threshold: 0.5, FalsePositiveInterval: &models.Pair{0, 1}}
	stated := "Its authors state no rates"
	if p := e.Adapt.Point; p != nil {
		point.Threshold, point.DetectionRate, point.DetectionInterval = p.Threshold, &p.DetectionRate, &models.Pair{0, 1}
		stated = fmt.Sprintf("Its authors state that %.3g %% of genuine pictures and %.3g %% of generated ones come out fake", 100*p.FalsePositiveRate, 100*p.DetectionRate)
	}
	return models.Card{
		Schema: models.Schema, Name: e.Name, Version: "1", Task: e.Task,
		Description: e.Description + " " + e.Warning + " " + stated + "; nothing was measured here.",
		File:        graphFile, SHA256: hex.EncodeToString(sum[:]), Input: input, Output: output,
		// One tile is the middle of the picture.
		Preprocessing:   models.Preprocessing{Tiles: 1},
		Calibration:     models.Calibration{Method: "platt", Scale: 1, Bias: e.Adapt.Bias},
		OperatingPoints: map[string]models.OperatingPoint{"strict": point, "balanced": point, "sensitive": point},
		Training:        models.Training{StartedFrom: e.Files[0].URL + " (" + e.Licence.Name + ")"},
		Licences:        models.Licences{Code: e.Licence.Name, Weights: e.Licence.Name, Data: "Trained by its authors; the licences of their data are not known here."},
		Golden:          models.Golden{Pattern: "lcg", Tolerance: 1e-3},
	}
}
