package models

import (
	"bytes"
	"testing"
)

// TestFiguresMustBeThereAndAgree: an equal error rate that was left out was listed as 0.00, as were
// the recall and the precision of a model that finds faces, an AUC of .94 stood beside an interval
// of .5 to .6, and a model passed the self-test of a card without an output, as its answer lay
// within a tolerance of 1 about 0. A measurement without counts, from which follows how far
// probabilities are told, had every file told at even odds, less than no measurement at all.
func TestFiguresMustBeThereAndAgree(t *testing.T) {
	t.Parallel()
	judge, finds := encode(t, halved()), encode(t, finderCard())
	for name, c := range map[string]struct {
		card          []byte
		old, instead  string
		field         string
		beyondASchema bool
	}{
		"no AUC":                    {judge, `"auc":0.8,`, ``, "measured.0.auc", false},
		"null for an AUC":           {judge, `"auc":0.8,`, `"auc":null,`, "measured.0.auc", false},
		"no interval":               {judge, `"auc_interval":[0.7,0.9],`, ``, "measured.0.auc_interval", false},
		"no error rate":             {judge, `"eer":0.2,`, ``, "measured.0.eer", false},
		"no genuine items":          {judge, `"real":10,`, ``, "measured.0.real", false},
		"no fake items":             {judge, `,"fake":10`, ``, "measured.0.fake", false},
		"null for a count":          {judge, `"fake":10`, `"fake":null`, "measured.0.fake", false},
		"AUC beside its interval":   {judge, `"auc":0.8,`, `"auc":0.94,`, "measured.0.auc", true},
		"no output":                 {judge, `"output":0.25,`, ``, "golden.output", false},
		"no output of a variant":    {judge, `"output":0.26,`, ``, "variants.0.golden.output", false},
		"null for an output":        {judge, `"output":0.25,`, `"output":null,`, "golden.output", false},
		"whatever the answer":       {judge, `"tolerance":0.001`, `"tolerance":1`, "golden.tolerance", false},
		"more found than may be":    {judge, `"detection_rate":0.3,`, `"detection_rate":0.5,`, "operating_points.strict.detection_rate", true},
		"found, but in no interval": {judge, `,"detection_interval":[0.2,0.4]`, ``, "operating_points.strict.detection_interval", false},
		"an interval of nothing":    {judge, `"detection_rate":0.3,`, ``, "operating_points.strict.detection_rate", false},
		"no figures at all":         {finds, `"precision":0.9,"precision_interval":[0.8,1],"recall":0.8,"recall_interval":[0.7,0.9]`, `"note":""`, "detection.measured.0.precision", false},
		"no precision":              {finds, `"precision":0.9,`, ``, "detection.measured.0.precision", false},
		"no precision's interval":   {finds, `"precision_interval":[0.8,1],`, ``, "detection.measured.0.precision_interval", false},
		"no recall":                 {finds, `"recall":0.8,`, ``, "detection.measured.0.recall", false},
		"no recall's interval":      {finds, `,"recall_interval":[0.7,0.9]`, ``, "detection.measured.0.recall_interval", false},
		"null for a recall":         {finds, `"recall":0.8,`, `"recall":null,`, "detection.measured.0.recall", false},
		"no such precision":         {finds, `"precision":0.9,`, `"precision":0.7,`, "detection.measured.0.precision", true},
		"no such recall":            {finds, `"recall":0.8,`, `"recall":1,`, "detection.measured.0.recall", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !bytes.Contains(c.card, []byte(c.old)) {
				t.Fatalf("%s does not say %s", c.card, c.old)
			}
			spoilt := bytes.Replace(c.card, []byte(c.old), []byte(c.instead), 1)
			_, err := Parse(spoilt)
			checkField(t, err, c.field)
			if err := fits(t, compiled(t), spoilt); (err == nil) != c.beyondASchema {
				t.Errorf("the schema says %v", err)
			}
		})
	}
}
