package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // of the page and its style
	"encoding/base64"
	"fmt"
	"html/template"
	"time"

	"deepfaked/inference"
)

//go:embed report.html
var pageText string

//go:embed report.css
var pageStyle string

var pageTemplate = template.Must(template.New("report.html").Parse(pageText))

// PagePolicy is the Content-Security-Policy of pages: nothing is fetched, nothing runs, and the one style is the page's own.
var PagePolicy = func() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}()

// Page is the report as an HTML page for people, which needs nothing else.
func (d *Document) Page() ([]byte, error) {
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, d.view()); err != nil {
		return nil, fmt.Errorf("write the page of %s: %w", d.ID, err)
	}
	return out.Bytes(), nil
}

// view is what the page shows.
type view struct {
	Policy   string
	Style    template.CSS
	Class    inference.Assessment
	Name     string
	What     string // the file is
	When     string // it was judged
	Headline string
	Lead     string
	Scale    *scale
	Rates    []string
	Reasons  []string
	Evidence []evidence
	Unseen   []string
	Facts    []fact
	Models   []inference.ModelUsed
	Signed   string // the fingerprint of the key that signs the JSON report; empty: nobody does
}

// fact is a property of the file or of its judgement.
type fact struct {
	Name, Value string
	Code        bool
}

func (d *Document) view() view {
	v := view{
		Policy: PagePolicy, Style: template.CSS(pageStyle), Class: d.Assessment, //nolint:gosec // our own, embedded
		Name: d.name(), What: d.what(), When: shown(d.CompletedAt), Headline: d.headline(), Lead: d.lead(),
		Scale: d.scale(), Rates: d.rates(), Evidence: d.evidence(), Unseen: d.unseen(), Facts: d.facts(), Models: d.Models,
	}
	if d.Signature != nil {
		v.Signed = d.Signature.fingerprint()
	}
	for _, r := range d.Reasons {
		if r.Code != inference.PartlyUnseen { // what that was is told below
			v.Reasons = append(v.Reasons, r.Text)
		}
	}
	return v
}

func (d *Document) facts() []fact {
	all := []fact{
		{Name: "Name", Value: d.FileName},
		{Name: "SHA-256", Value: d.SHA256, Code: true},
		{Name: "Size", Value: size(d.Size)},
		{Name: "Format", Value: d.Format},
		{Name: "Dimensions", Value: dimensions(d.Width, d.Height)},
		{Name: "Duration", Value: duration(d.DurationSeconds)},
		{Name: "Submitted", Value: shown(d.CreatedAt)},
		{Name: "Judged", Value: shown(d.CompletedAt)},
		{Name: "Took", Value: d.took()},
		{Name: "Verdict", Value: d.verdict()},
		{Name: "Sensitivity", Value: string(d.Sensitivity)},
		{Name: "Prior", Value: "probabilities suppose that " + percent(d.Prior) + " of all files are fake"},
		{Name: "Detection", Value: d.ID, Code: true},
	}
	facts := all[:0]
	for _, f := range all {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	return facts
}

// shown is a time for people; empty for none.
func shown(t Timestamp) string {
	if time.Time(t).IsZero() {
		return ""
	}
	return time.Time(t).UTC().Format("2 January 2006, 15:04:05 UTC")
}
