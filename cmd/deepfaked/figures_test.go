package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/preprocess"
)

// outcome is a judgement as the detector gives it: fake from each threshold on.
func outcome(kind preprocess.Kind, p float64, thresholds ...float64) judged {
	j := judged{Kind: kind, Report: &inference.Report{ProbabilityFake: p, LogOdds: math.Log(p / (1 - p))}, decisions: map[inference.Sensitivity]inference.Decision{}}
	for i, s := range inference.Sensitivities() {
		d := inference.Decision{Threshold: thresholds[i], Verdict: inference.Real}
		if p >= d.Threshold {
			d.Verdict = inference.Fake
		}
		j.decisions[s] = d
	}
	return j
}

// TestReportByHand: each file is decided by its own threshold, so that one that
// scores lower can be called fake and one that scores higher genuine.
func TestReportByHand(t *testing.T) {
	t.Parallel()
	e := newEvaluation()
	e.add(outcome("image", .6, .9, .7, .5), false, "")
	e.add(outcome("image", .2, .9, .7, .5), false, "")
	e.add(outcome("image", .55, .7, .5, .3), true, "")
	e.add(outcome("image", .95, .9, .7, .5), true, "")
	e.add(outcome("audio", .4, .9, .7, .3), false, "")
	e.add(judged{Error: "empty_file"}, true, "")
	// Nothing to judge is no right or wrong answer: a score of 0 for each of such files moved every figure.
	nothing := outcome("image", .5, 1, 1, 1)
	nothing.Report.Assessment = inference.NotApplicable
	e.add(nothing, true, "")

	text, err := json.Marshal(e.report())
	require.NoError(t, err)
	assert.JSONEq(t, `{"files": 7, "failed": 1, "not_applicable": 1, "media": {
		"image": {"real": 2, "fake": 2, "auc": 0.75, "auc_ci95": [0.227, 0.967], "eer": 0.5, "ece": 0.325, "operating_points": {
			"strict": {"threshold": 0.9, "fpr": 0, "tpr": 0.5, "balanced_accuracy": 0.75},
			"balanced": {"threshold": 0.7, "fpr": 0, "tpr": 1, "balanced_accuracy": 1},
			"sensitive": {"threshold": 0.5, "fpr": 0.5, "tpr": 1, "balanced_accuracy": 0.75}}},
		"audio": {"real": 1, "fake": 0, "auc": null, "auc_ci95": null, "eer": null, "ece": null, "operating_points": {
			"strict": {"threshold": 0.9, "fpr": 0, "tpr": null, "balanced_accuracy": null},
			"balanced": {"threshold": 0.7, "fpr": 0, "tpr": null, "balanced_accuracy": null},
			"sensitive": {"threshold": 0.3, "fpr": 1, "tpr": null, "balanced_accuracy": null}}}}}`, rounded(t, text))

	var out bytes.Buffer
	require.NoError(t, e.printTables(&out))
	for _, want := range []string{
		"MEDIUM GENUINE FAKE AUC 95 % INTERVAL EER ECE", "audio 1 0 - - - -",
		"image balanced 0.700 0.0 % 100.0 % 100.0 %", "audio sensitive 0.300 100.0 % - -",
		"7 files, 1 failed.", "which no figure counts: 1.", "audio: no fake file was judged", "image: thresholds differ", "or less may be told of a file than decided",
	} {
		assert.Contains(t, strings.Join(strings.Fields(out.String()), " "), want)
	}
	assert.NotContains(t, out.String(), "audio: thresholds")
	assert.Less(t, strings.Index(out.String(), "image"), strings.Index(out.String(), "audio"))
}

// rounded cuts all numbers of a JSON text to three decimals.
func rounded(t *testing.T, text []byte) string {
	t.Helper()
	var all any
	require.NoError(t, json.Unmarshal(text, &all))
	out, err := json.Marshal(cut(all))
	require.NoError(t, err)
	return string(out)
}

func cut(v any) any {
	switch v := v.(type) {
	case float64:
		return math.Round(1000*v) / 1000
	case []any:
		for i := range v {
			v[i] = cut(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = cut(v[k])
		}
	}
	return v
}

func TestTablesOfNothing(t *testing.T) {
	t.Parallel()
	e := newEvaluation()
	e.add(judged{Error: "empty_file"}, true, "")
	var out bytes.Buffer
	require.NoError(t, e.printTables(&out))
	assert.Equal(t, "1 files, 1 failed.\n", out.String())
	text, err := json.Marshal(e.report())
	require.NoError(t, err)
	assert.JSONEq(t, `{"files": 1, "failed": 1, "not_applicable": 0, "media": {}}`, string(text))
}

// TestKinds: a detector that accused every third drawing had 5 % false positives over all, and eval showed nothing else.
func TestKinds(t *testing.T) {
	t.Parallel()
	e := newEvaluation()
	for _, f := range []struct {
		p    float64
		fake bool
		kind string
	}{
		{.1, false, "portraits"}, {.8, true, "portraits"}, {.8, false, "drawings"}, {.2, false, "drawings"}, {.3, true, "swaps"}, {.4, false, ""},
	} {
		e.add(outcome("image", f.p, .9, .7, .5), f.fake, f.kind)
	}
	kinds := e.report().Media["image"].Kinds
	assert.Len(t, kinds, 3)
	assert.Equal(t, figure(1), kinds["portraits"].AUC)
	assert.Equal(t, figure(.5), kinds["drawings"].Points["balanced"].FPR)
	assert.Equal(t, 4, e.report().Media["image"].Real)
	var out bytes.Buffer
	require.NoError(t, e.printTables(&out))
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"MEDIUM KIND GENUINE FAKE AUC FALSE POSITIVES DETECTED", "image drawings 2 0 - 50.0 % -", "image swaps 0 1 - - 0.0 %",
		"called fake most often is drawings, 50.0 % of them.", "found least often is swaps, 0.0 % of them.",
	} {
		assert.Contains(t, text, want)
	}
}
