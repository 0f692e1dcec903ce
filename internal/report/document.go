package report

import (
	"encoding/json"
	"fmt"
	"time"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/preprocess"
)

// Document is the report of a detection. Its JSON Schema is that of Report in the OpenAPI document.
type Document struct {
	ID          string    `json:"id"`
	CreatedAt   Timestamp `json:"created_at"`
	CompletedAt Timestamp `json:"completed_at"`
	Verdict     string    `json:"verdict"`
	Confidence  float64   `json:"confidence"`
	MediaType   string    `json:"media_type"`
	inference.Report
	Signature *Signature `json:"signature,omitempty"` // of all else; nil where nobody signs
}

// Of is the report of a detection that is complete.
func Of(d account.Detection) (*Document, error) {
	doc := &Document{
		ID: d.ID, CreatedAt: Timestamp(d.Created), CompletedAt: Timestamp(d.Completed),
		Verdict: d.Verdict, Confidence: d.Confidence, MediaType: d.Kind,
	}
	if err := json.Unmarshal(d.Report, &doc.Report); err != nil {
		return nil, fmt.Errorf("read the report of %s: %w", d.ID, err)
	}
	doc.fill()
	return doc, nil
}

// New is the report of a file that was judged without a service.
func New(id string, created, completed time.Time, verdict inference.Verdict, confidence float64, kind preprocess.Kind, r inference.Report) *Document {
	doc := &Document{
		ID: id, CreatedAt: Timestamp(created), CompletedAt: Timestamp(completed),
		Verdict: string(verdict), Confidence: confidence, MediaType: string(kind), Report: r,
	}
	doc.fill()
	return doc
}

// fill has lists and tables that are empty written as such: what an earlier version has stored lacks some.
func (d *Document) fill() {
	r := &d.Report
	r.Reasons, r.Findings, r.Models, r.ErrorRates = listed(r.Reasons), listed(r.Findings), listed(r.Models), listed(r.ErrorRates)
	if r.Thresholds == nil {
		r.Thresholds = map[inference.Sensitivity]float64{r.Sensitivity: r.Threshold}
	}
	if r.Timings == nil {
		r.Timings = map[string]int64{}
	}
}

func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Timestamp is a time that is written in RFC 3339, in UTC with milliseconds.
type Timestamp time.Time

const stamp = "2006-01-02T15:04:05.000Z"

// MarshalText implements encoding.TextMarshaler.
func (t Timestamp) MarshalText() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, stamp), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Timestamp) UnmarshalText(text []byte) error {
	parsed, err := time.Parse(time.RFC3339, string(text))
	*t = Timestamp(parsed)
	return err
}
