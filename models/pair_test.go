package models

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestPairsAreOfTwo: limits of [-3] were read as [-3, 0], and those of [], with which
// nothing is ever more likely fake than not, as [0, 0].
func TestPairsAreOfTwo(t *testing.T) {
	t.Parallel()
	schema, finds := compiled(t), finderCard()
	card := validCard()
	card.Calibration.Limits = &Pair{-1.25, 2}
	for field, c := range map[string]struct {
		card Card
		pair string
	}{
		"calibration.limits":                    {card, "[-1.25,2]"},
		"operating_points.detection_interval":   {card, "[0.2,0.4]"},
		"measured.auc_interval":                 {card, "[0.7,0.9]"},
		"detection.measured.recall_interval":    {finds, "[0.7,0.9]"},
		"detection.measured.precision_interval": {finds, "[0.8,1]"},
	} {
		name := field[strings.LastIndex(field, ".")+1:]
		good := []byte(`"` + name + `":` + c.pair)
		data := encode(t, c.card)
		if !bytes.Contains(data, good) {
			t.Fatalf("%s does not say %s", data, good)
		}
		if _, err := Parse(data); err != nil {
			t.Errorf("%s: %v", field, err)
		}
		for _, bad := range []string{"[]", "[0]", "[0,1,1]", "[null,1]", `["0",1]`, "1"} {
			spoilt := bytes.Replace(data, good, []byte(`"`+name+`":`+bad), 1)
			if _, err := Parse(spoilt); err == nil {
				t.Errorf("%s of %s was accepted", field, bad)
			} else if wrong := err.Error(); !strings.Contains(wrong, name) || !strings.Contains(wrong, "two numbers") {
				t.Errorf("%s of %s: %s", field, bad, wrong)
			}
			if fits(t, schema, spoilt) == nil {
				t.Errorf("%s of %s fits the schema", field, bad)
			}
		}
	}
	if err := json.Unmarshal([]byte(`{"alone":{"limits":[1]}}`), new(Fusion)); err == nil {
		t.Error("a fusion with one limit was accepted")
	}
}
