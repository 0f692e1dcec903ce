package job

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/internal/spool"
	"deepfaked/preprocess"
)

// small is a task with a file of three bytes.
func small(t *testing.T) Task {
	t.Helper()
	s, err := spool.New(spool.Options{Dir: filepath.Join(t.TempDir(), "spool"), Memory: 1 << 20})
	require.NoError(t, err)
	f, err := s.Create()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	_, err = f.Write([]byte("abc"))
	require.NoError(t, err)
	return Task{ID: "det_1", File: f}
}

// What no client may be told is neither stored nor charged.
func TestJudgeTakesNoAnswerThatCannotBe(t *testing.T) {
	t.Parallel()
	possible := inference.Result{Verdict: inference.Fake, Confidence: 1, Kind: preprocess.Image}
	for name, c := range map[string]struct {
		spoil func(*inference.Result)
		well  bool
	}{
		"certain":           {func(*inference.Result) {}, true},
		"certain of nought": {func(r *inference.Result) { r.Confidence = 0 }, true},
		"no number":         {func(r *inference.Result) { r.Confidence = math.NaN() }, false},
		"more than certain": {func(r *inference.Result) { r.Confidence = math.Nextafter(1, 2) }, false},
		"less than nought":  {func(r *inference.Result) { r.Confidence = -math.SmallestNonzeroFloat64 }, false},
		"no verdict":        {func(r *inference.Result) { r.Verdict = "" }, false},
		"no media type":     {func(r *inference.Result) { r.Kind = "text" }, false},
	} {
		result := possible
		c.spoil(&result)
		answer := detector(func(context.Context, inference.Request) (inference.Result, error) { return result, nil })
		_, err := Judge(t.Context(), answer, small(t), inference.Interactive)
		assert.Equal(t, c.well, err == nil, "%s: %v", name, err)
	}
}

// Whoever has gone by the time that there is an answer gets none, and is not charged for one.
func TestJudgeChargesNobodyWhoHasGone(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	answer := detector(func(context.Context, inference.Request) (inference.Result, error) {
		leave()
		return good(ctx, inference.Request{})
	})
	_, err := Judge(ctx, answer, small(t), inference.Interactive)
	require.ErrorIs(t, err, context.Canceled)
}

// The report says of which bytes it is.
func TestJudgeNamesTheFile(t *testing.T) {
	t.Parallel()
	outcome, err := Judge(t.Context(), detector(good), small(t), inference.Interactive)
	require.NoError(t, err)
	assert.Contains(t, string(outcome.Report), `"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`)
}

// Jobs that are accepted together have as much room as one after the other.
func TestJobsTogetherHaveNoMoreRoom(t *testing.T) {
	t.Parallel()
	opts := DefaultOptions()
	opts.Queue = 3
	r := &Runner{opts: opts, door: newDoor(opts)}
	of := func(accounts ...string) (jobs []detection) {
		for _, a := range accounts {
			jobs = append(jobs, detection{Account: a})
		}
		return jobs
	}
	for name, c := range map[string]struct {
		waiting string
		jobs    []detection
		want    error
	}{
		"three accounts":      {"{}", of("a", "b", "c"), nil},
		"one more":            {"{}", of("a", "b", "c", "d"), ErrFull},
		"beside who waits":    {`{"a": 1}`, of("b", "c"), nil},
		"too many beside":     {`{"a": 1}`, of("b", "c", "d"), ErrFull},
		"an account's share":  {"{}", of("a", "a"), nil},
		"more than its share": {"{}", of("a", "a", "a"), ErrShare},
	} {
		_, _, err := r.admit(c.waiting, c.jobs)
		require.ErrorIs(t, err, c.want, name)
	}
}
