//go:build gocv_specific_modules

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/api"
	"deepfaked/inference"
	"deepfaked/models"
)

// form is a submission.
func form(t testing.TB, file []byte, fields ...string) (io.Reader, string) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for field := range slices.Chunk(fields, 2) {
		require.NoError(t, w.WriteField(field[0], field[1]))
	}
	part, err := w.CreateFormFile("file", "upload.bin")
	require.NoError(t, err)
	_, err = part.Write(file)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return &out, w.FormDataContentType()
}

// fields checks that a has exactly the fields, of the form that the contract
// gives them.
func (a answer) fields(t testing.TB, status int, names ...string) answer {
	t.Helper()
	require.Equal(t, status, a.status, a.raw)
	for _, name := range names {
		require.Contains(t, a.body, name)
		switch value := a.body[name]; name {
		case "id":
			assert.Regexp(t, `^det_[0-9a-z]{26}$`, value)
		case "verdict":
			assert.Contains(t, []any{"real", "fake"}, value)
		case "confidence":
			p, ok := value.(float64)
			assert.True(t, ok && p >= .5 && p < 1, "confidence %v", value)
			assert.Regexp(t, `"confidence":[01]\.\d`, a.raw, "a float")
		case "media_type":
			assert.Contains(t, []any{"image", "audio", "video"}, value)
		case "created_at", "completed_at", "period_start":
			assert.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, value)
		case "poll_url":
			assert.Equal(t, "/v1/results/"+a.body["id"].(string), value)
		}
	}
	require.Len(t, a.body, len(names), "no other fields: %s", a.raw)
	return a
}

// judged checks that a is a synchronous result.
func (a answer) judged(t testing.TB) answer {
	t.Helper()
	return a.fields(t, 200, "id", "verdict", "confidence", "media_type", "created_at")
}

// id is that of the detection.
func (a answer) id() string { return a.body["id"].(string) }

// reportSchema is the published schema, as a validator that is not ours reads it.
var reportSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	text, err := api.ReportSchema()
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("report.schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("report.schema.json")
})

// fitsReport checks a report against the schema.
func fitsReport(t testing.TB, raw string) {
	t.Helper()
	schema, err := reportSchema()
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(doc), raw)
}

// report reads what else is known of a detection, and checks that it is as the schema says.
func (s *instance) report(t testing.TB, key, id string) inference.Report {
	t.Helper()
	a := s.get(t, key, "/v1/results/"+id+"/report")
	require.Equal(t, 200, a.status, a.raw)
	fitsReport(t, a.raw)
	var r inference.Report
	require.NoError(t, json.Unmarshal([]byte(a.raw), &r))
	return r
}

// times are those of the pieces that a task judged.
func times(r inference.Report, task models.Task) []float64 {
	var at []float64
	for _, f := range r.Findings {
		for _, p := range f.Pieces {
			if f.Task == string(task) {
				at = append(at, p.AtSeconds)
			}
		}
	}
	return at
}
