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
		{model, Runs{Full, "model.onnx", model.Card.SHA256}},
		{model.In(Int8), Runs{Int8, "model-int8.onnx", variant.SHA256}},
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
