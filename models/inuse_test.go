package models

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestRunningShowsTheWholeCard: the card of a variant was shown in the place of the
// model's, and with it ten of the picture model's twelve measurements were missing, and
// every word of its variants.
func TestRunningShowsTheWholeCard(t *testing.T) {
	t.Parallel()
	model, err := Load(halvedFolder(t, []byte("stands for fewer bits")), ".")
	if err != nil {
		t.Fatal(err)
	}
	variant := model.Card.Variants[0]
	for _, c := range []struct {
		model *Model
		runs  Runs
	}{
		{model, Runs{Precision: Full, File: "model.onnx", SHA256: model.Card.SHA256}},
		{model.In(Int8), Runs{Precision: Int8, File: "model-int8.onnx", SHA256: variant.SHA256}},
	} {
		got := c.model.Running()
		if !reflect.DeepEqual(got.Card, model.Card) || got.Runs != c.runs {
			t.Errorf("%+v", got)
		}
		data, err := json.Marshal(InUse{Models: []Running{got}})
		if err != nil {
			t.Fatal(err)
		}
		var back struct{ Models []map[string]any }
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		running, _ := back.Models[0]["running"].(map[string]any)
		if back.Models[0]["file"] != "model.onnx" || back.Models[0]["variants"] == nil || running["precision"] != string(c.runs.Precision) {
			t.Errorf("%s", data)
		}
	}
}

// TestInUseNamesTheReplacedFinder: of two models that find faces one is asked, and the
// cards of both are shown.
func TestInUseNamesTheReplacedFinder(t *testing.T) {
	t.Parallel()
	judge, first, second := &Model{Card: validCard()}, &Model{Card: finderCard()}, &Model{Card: finderCard()}
	second.Card.Name = "second"
	used := NewInUse([]*Model{first, judge, second})
	for i, want := range []string{"second", "", ""} {
		if got := used.Models[i].Runs.ReplacedBy; got != want {
			t.Errorf("%s is replaced by %q, want %q", used.Models[i].Name, got, want)
		}
	}
}
