package api_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"deepfaked/api"
	"deepfaked/inference"
	"deepfaked/internal/report"
)

// reportSchema is the published schema, as a validator that is not ours reads it.
func reportSchema(t testing.TB, s *service) *jsonschema.Schema {
	t.Helper()
	a := s.get("", "/v1/report.schema.json").ok(200)
	if got := a.header.Get("Content-Type"); got != "application/schema+json" {
		t.Errorf("the schema is %s", got)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.raw))
	must(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	must(t, c.AddResource("report.schema.json", doc))
	schema, err := c.Compile("report.schema.json")
	must(t, err)
	return schema
}

// fits says what of a document is not as the schema has it.
func fits(t testing.TB, schema *jsonschema.Schema, raw []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	must(t, err)
	return schema.Validate(doc)
}

// judged is what a detector says of a picture, in full.
func judged(context.Context, inference.Request) (inference.Result, error) {
	r, err := fake(context.Background(), inference.Request{})
	r.Report.Assessment, r.Report.Sensitivity, r.Report.Prior = inference.LikelyFake, inference.Balanced, .5
	r.Report.SupposedShare, r.Report.Provider = .5, "CPUExecutionProvider"
	return r, err
}

// The report says which detection it is of and which file was judged, and is as its schema says, of a job too.
func TestReportFitsItsSchema(t *testing.T) {
	t.Parallel()
	s := setup(t, config{detect: judged})
	schema, key := reportSchema(t, s), s.key("pro")
	now := s.detect(key, photo()).ok(200).text("id")
	later := s.detect(key, photo(), async()).ok(202).text("id")
	s.poll(key, later)
	for _, id := range []string{now, later} {
		a := s.get(key, "/v1/results/"+id+"/report").ok(200)
		if err := fits(t, schema, a.raw); err != nil {
			t.Errorf("%s: %v", a.raw, err)
		}
		for name, want := range map[string]any{
			"id": id, "verdict": "fake", "confidence": .875, "media_type": "image", "file_name": "secret name.jpg", "size_bytes": float64(len(photo().value)),
			"created_at": "2026-03-14T15:09:26.535Z", "completed_at": "2026-03-14T15:09:26.535Z", "assessment": "likely_fake",
		} {
			if a.body[name] != want {
				t.Errorf("%s is %v, want %v", name, a.body[name], want)
			}
		}
	}
	spoilt := bytes.Replace(s.get(key, "/v1/results/"+now+"/report").ok(200).raw, []byte(`"likely_fake"`), []byte(`"authentic"`), 1)
	if err := fits(t, schema, spoilt); err == nil {
		t.Error("the schema lets anything pass")
	}
}

// A browser gets a page, whatever else gets JSON, and an error is the contract's either way.
func TestReportAsAPage(t *testing.T) {
	t.Parallel()
	s := setup(t, config{detect: judged})
	key := s.key("pro")
	id := s.detect(key, photo()).ok(200).text("id")
	const data, page = "application/json; charset=utf-8", "text/html; charset=utf-8"
	for accept, want := range map[string]string{
		"": data, "*/*": data, "application/json": data, "image/png": data, "nonsense;;": data, "text/html;q=0": data,
		"text/html": page, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": page, "application/json;q=0.5, text/html": page,
		"text/html;q=0.5, application/json": data, "text/html;q=x": data,
	} {
		a := s.do(request{method: "GET", path: "/v1/results/" + id + "/report", key: key, header: map[string]string{"Accept": accept}}).ok(200)
		if got := a.header.Get("Content-Type"); got != want || a.header.Get("Vary") != "Accept" {
			t.Errorf("%q is answered with %s, want %s", accept, got, want)
		}
	}
	a := s.get(key, "/v1/results/"+id+"/report.html").ok(200)
	policy := a.header.Get("Content-Security-Policy")
	if !bytes.Contains(a.raw, []byte("<h1>Likely fake</h1>")) || !bytes.Contains(a.raw, []byte(id)) || !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") {
		t.Errorf("the page under %s is %s", policy, a.raw)
	}
	never := "/v1/results/det_00000000000000000000000000/report"
	s.do(request{method: "GET", path: never, key: key, header: map[string]string{"Accept": "text/html"}}).want(404, "not_found")
	s.get(key, never+".html").want(404, "not_found")
	s.get(s.key("free"), "/v1/results/"+id+"/report.html").want(404, "not_found")
	s.get("", "/v1/results/"+id+"/report.html").want(401, "unauthorized")
}

// A report proves by the key of /.well-known/deepfaked.pem that it is the service's, without its help.
func TestReportIsSigned(t *testing.T) {
	t.Parallel()
	s := setup(t, config{detect: judged})
	key := s.key("pro")
	id := s.detect(key, photo()).ok(200).text("id")
	a := s.get(key, "/v1/results/"+id+"/report").ok(200)
	_, by, err := report.Verify(a.raw)
	must(t, err)
	published := s.get("", "/.well-known/deepfaked.pem").ok(200)
	public, err := report.ParsePublicKey(published.raw)
	must(t, err)
	if by.Fingerprint() != public.Fingerprint() {
		t.Errorf("the report is signed by %s, the service's key is %s", by.Fingerprint(), public.Fingerprint())
	}
	if again := s.get(key, "/v1/results/"+id+"/report").ok(200); !bytes.Equal(again.raw, a.raw) {
		t.Errorf("asked again, the report is %s, and was %s", again.raw, a.raw)
	}
	if page := s.get(key, "/v1/results/"+id+"/report.html").ok(200); !bytes.Contains(page.raw, []byte(public.Fingerprint())) {
		t.Error("the page does not name the key")
	}
}

// A service without a key serves reports all the same, and says that it has none.
func TestReportWithoutAKey(t *testing.T) {
	t.Parallel()
	s := setup(t, config{detect: judged, api: func(o *api.Options) { o.Signer = nil }})
	key := s.key("pro")
	id := s.detect(key, photo()).ok(200).text("id")
	a := s.get(key, "/v1/results/"+id+"/report").ok(200)
	if _, _, err := report.Verify(a.raw); !errors.Is(err, report.ErrUnsigned) {
		t.Errorf("%s: %v", a.raw, err)
	}
	s.get("", "/.well-known/deepfaked.pem").want(404, "not_found")
}
