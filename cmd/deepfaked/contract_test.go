//go:build gocv_specific_modules

package main

import (
	"bytes"
	"encoding/json"
	"image/png"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/api/client"
	"deepfaked/inference"
	"deepfaked/internal/report"
	"deepfaked/models"
	"deepfaked/preprocess"
)

// testContract is the contract in one walk: package api tests every row of its
// tables with a detector that is told what to say; this is the real one.
func (s *instance) testContract(t *testing.T) {
	t.Run("synchronous", s.testSynchronous)
	t.Run("asynchronous", s.testAsynchronous)
	t.Run("sensitivity", s.testSensitivity)
	t.Run("every response", s.testEveryResponse)
	t.Run("models", s.testModels)
	t.Run("nothing to judge", s.testNothingToJudge)
	t.Run("notes", s.testNotes)
}

func somePicture(t testing.TB) []byte {
	t.Helper()
	return encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, picture(300, 240)) })
}

// usage reads what the account has used.
func (s *instance) usage(t testing.TB, key string) float64 {
	t.Helper()
	u := s.get(t, key, "/v1/usage").fields(t, 200, "plan", "scans_used", "scans_limit", "scans_remaining", "period_start")
	used, limit := u.body["scans_used"].(float64), u.body["scans_limit"].(float64)
	assert.InDelta(t, limit-used, u.body["scans_remaining"], 0)
	return used
}

func (s *instance) testSynchronous(t *testing.T) {
	t.Parallel()
	key, other := newKey(t, s.data, "sync", "free"), newKey(t, s.data, "other", "pro")
	got := s.detect(t, key, somePicture(t)).judged(t)
	assert.Equal(t, "image", got.body["media_type"])
	again := s.get(t, key, "/v1/results/"+got.id()).
		fields(t, 200, "id", "status", "verdict", "confidence", "media_type", "created_at", "completed_at")
	assert.Equal(t, "complete", again.body["status"])
	for name, value := range got.body {
		assert.Equal(t, value, again.body[name], name)
	}
	s.detect(t, key, []byte("no picture")).want(t, 415, "unsupported_media_type")
	assert.InDelta(t, 1, s.usage(t, key), 0, "only successes count")
	reported := s.get(t, key, "/v1/results/"+got.id()+"/report")
	_, by, err := report.Verify([]byte(reported.raw))
	require.NoError(t, err)
	assert.Equal(t, string(by.PEM()), s.get(t, "", "/.well-known/deepfaked.pem").raw)
	assert.Contains(t, s.get(t, key, "/v1/results/"+got.id()+"/report.html").raw, by.Fingerprint())
	for name, want := range map[string]any{"id": got.id(), "verdict": got.body["verdict"], "file_name": "upload.bin", "size_bytes": float64(len(somePicture(t)))} {
		assert.Equal(t, want, reported.body[name], name)
	}
	for _, path := range []string{"/v1/results/" + got.id(), "/v1/results/" + got.id() + "/report", "/v1/results/det_none"} {
		s.get(t, other, path).want(t, 404, "not_found")
	}
	s.detect(t, key, somePicture(t), "async", "true").want(t, 402, "async_not_allowed")
	s.detect(t, key, somePicture(t), "async", "false", "unknown", "field").judged(t)
}

// testAsynchronous: one worker takes the first film, so that the second is
// still to be read as processing.
func (s *instance) testAsynchronous(t *testing.T) {
	t.Parallel()
	key := newKey(t, s.data, "async", "pro")
	film := ffmpeg(t, "x.mp4", "-f lavfi -i mandelbrot=s=640x480:r=8:end_pts=16 -t 2 -c:v libx264 -preset veryfast -pix_fmt yuv420p")
	submit := func(file []byte) answer {
		a := s.detect(t, key, file, "async", "true").fields(t, 202, "id", "status", "poll_url")
		assert.Equal(t, "processing", a.body["status"])
		return a
	}
	read := func(a answer) answer { return s.get(t, key, a.body["poll_url"].(string)) }
	first, second, bad := submit(film), submit(somePicture(t)), submit([]byte("no film"))
	assert.Equal(t, "processing", read(bad).fields(t, 200, "id", "status", "poll_url", "created_at").body["status"])

	c, err := client.New(client.Options{BaseURL: s.url, Key: key, HTTP: s.client})
	require.NoError(t, err)
	for _, a := range []answer{first, second, bad} {
		_, err := c.Wait(t.Context(), a.id())
		require.NoError(t, err)
	}
	for a, kind := range map[*answer]string{&first: "video", &second: "image"} {
		done := read(*a).fields(t, 200, "id", "status", "verdict", "confidence", "media_type", "created_at", "completed_at")
		assert.Equal(t, "complete", done.body["status"])
		assert.Equal(t, kind, done.body["media_type"])
		assert.Equal(t, a.id(), done.id())
	}
	failed := read(bad).fields(t, 200, "id", "status", "error", "created_at")
	assert.Equal(t, "failed", failed.body["status"])
	assert.Equal(t, s.detect(t, key, []byte("no film")).want(t, 415, "unsupported_media_type"), failed.body["error"])
	assert.InDelta(t, 2, s.usage(t, key), 0, "a failed job costs nothing")
}

// testSensitivity: the level moves the threshold, and the confidence with it, never the probability.
func (s *instance) testSensitivity(t *testing.T) {
	t.Parallel()
	key := newKey(t, s.data, "levels", "pro")
	var reports []inference.Report
	for _, level := range []string{"sensitive", "balanced", "strict", ""} {
		var fields []string
		if level != "" {
			fields = []string{"sensitivity", level}
		}
		a := s.detect(t, key, somePicture(t), fields...).judged(t)
		r := s.report(t, key, a.id())
		reports = append(reports, r)
		fake := r.ProbabilityFake >= r.Threshold
		assert.Equal(t, fake, a.body["verdict"] == "fake")
		apart := math.Abs(math.Log(r.ProbabilityFake/(1-r.ProbabilityFake)) - math.Log(r.Threshold/(1-r.Threshold)))
		assert.InDelta(t, 1/(1+math.Exp(-apart)), a.body["confidence"], 1e-4)
		assert.InDelta(t, 1-r.Threshold, r.SupposedShare, 1e-6, "at equal priors the line is the break-even at the share beyond it")
		require.NotEmpty(t, r.Models)
		rate := map[string]float64{"sensitive": 0.15, "balanced": 0.05, "strict": 0.01, "": 0.05}[level]
		assert.InDelta(t, rate, r.Models[0].FalsePositiveRate, 0)
	}
	for _, r := range reports {
		assert.InDelta(t, reports[0].ProbabilityFake, r.ProbabilityFake, 1e-4)
	}
	assert.Less(t, reports[0].Threshold, reports[1].Threshold)
	assert.Less(t, reports[1].Threshold, reports[2].Threshold)
	assert.InDelta(t, reports[1].Threshold, reports[3].Threshold, 0, "balanced is the default")
}

// testEveryResponse: errors have the contract's shape, and its headers, which do
// checks of every answer.
func (s *instance) testEveryResponse(t *testing.T) {
	t.Parallel()
	key := newKey(t, s.data, "headers", "pro")
	for _, bad := range []string{"", "x", key + "x", key[:len(key)-1]} {
		s.get(t, bad, "/v1/usage").want(t, 401, "unauthorized")
		s.detect(t, bad, somePicture(t)).want(t, 401, "unauthorized")
	}
	s.get(t, key, "/v1/nothing").want(t, 404, "not_found")
	s.get(t, "", "/").want(t, 404, "not_found")
	wrong := s.do(t, http.MethodDelete, "/v1/usage", key, "", nil)
	wrong.want(t, 405, "method_not_allowed")
	assert.Equal(t, "GET, HEAD", wrong.header.Get("Allow"))
	s.do(t, http.MethodGet, "/v1/detect", key, "", nil).want(t, 405, "method_not_allowed")
	s.do(t, http.MethodPost, "/v1/detect", key, "text/plain", strings.NewReader("x")).want(t, 400, "invalid_request")
	assert.Equal(t, "ready", s.get(t, "", "/readyz").body["status"])
	assert.Equal(t, "ok", s.get(t, "", "/healthz").body["status"])
	assert.Contains(t, s.get(t, key, "/openapi.yaml").raw, "openapi: 3")
}

// testModels: the cards are shown as they stand, and which of their files runs. The
// fusion was not shown at all, nor most of the figures of a model that runs in 8 bits.
func (s *instance) testModels(t *testing.T) {
	t.Parallel()
	key := newKey(t, s.data, "cards", "free")
	var list models.InUse
	require.NoError(t, json.Unmarshal([]byte(s.get(t, key, "/v1/models").raw), &list))
	require.Len(t, list.Models, 5)
	assert.Contains(t, []string{"best", "fast"}, list.Quality)
	for _, card := range list.Models {
		assert.NoError(t, card.Validate())
		assert.NotEmpty(t, card.Runs.Precision)
		assert.True(t, len(card.Measured) > 0 || card.Detection != nil && len(card.Detection.Measured) > 0 || card.Activity != nil && len(card.Activity.Measured) > 0, card.Name)
		assert.NotEmpty(t, card.Licences.Weights)
	}
	builtin, err := models.Builtin()
	require.NoError(t, err)
	var cards []models.Card
	for _, used := range list.Models {
		cards = append(cards, used.Card)
		assert.True(t, slices.ContainsFunc(builtin, func(m *models.Model) bool { return reflect.DeepEqual(m.Card, used.Card) }), used.Name)
	}
	fusion, err := models.BuiltinFusion(cards)
	require.NoError(t, err)
	assert.Equal(t, fusion, list.Fusion)
}

// testNothingToJudge: silence was refused with 415, and a picture of one colour was judged. Both are whole and
// hold nothing to judge: that is an answer, which counts.
func (s *instance) testNothingToJudge(t *testing.T) {
	t.Parallel()
	key := newKey(t, s.data, "nothing", "pro")
	for want, file := range map[inference.ReasonCode][]byte{
		inference.Silent: ffmpeg(t, "x.wav", "-f lavfi -i anullsrc=r=16000:d=10"),
		inference.Blank:  ffmpeg(t, "x.jpg", "-f lavfi -i color=c=teal:s=320x240:d=1 -frames:v 1"),
	} {
		a := s.detect(t, key, file).judged(t)
		assert.Equal(t, "real", a.body["verdict"], want)
		assert.InDelta(t, .5, a.body["confidence"], 0, want)
		r := s.report(t, key, a.id())
		assert.Equal(t, inference.NotApplicable, r.Assessment, want)
		assert.Equal(t, []inference.Reason{{Code: want, Text: want.Text()}}, r.Reasons)
		assert.Empty(t, r.Findings, want)
	}
	assert.InDelta(t, 2, s.usage(t, key), 0)
}

// testNotes: of a film whose sound is in a foreign codec, the report said nothing about
// the sound that was not judged, and a muted track was judged as genuine speech, which made
// fake films real. The verdict's own representation stays as it is.
func (s *instance) testNotes(t *testing.T) {
	t.Parallel()
	key := newKey(t, s.data, "notes", "pro")
	for codec, want := range map[string][]inference.Note{
		"wavpack": {{Code: preprocess.SoundUnsupported, Message: preprocess.SoundUnsupported.Message()}}, "aac": nil,
		"aac -af volume=0": {{Code: preprocess.SoundSilent, Message: preprocess.SoundSilent.Message()}},
	} {
		film := ffmpeg(t, "x.mkv", scene+tone+"-c:v libx264 -preset veryfast -c:a "+codec)
		assert.Equal(t, want, s.report(t, key, s.detect(t, key, film).judged(t).id()).Notes, codec)
	}
}
