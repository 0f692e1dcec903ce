package api_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deepfaked/api/client"
	"deepfaked/inference"
)

func (s *service) newClient(key string) *client.Client {
	s.t.Helper()
	c, err := client.New(client.Options{BaseURL: s.url, Key: key, HTTP: s.client})
	must(s.t, err)
	return c
}

// The client against the real server: every call, and a refusal.
func TestClient(t *testing.T) {
	t.Parallel()
	s := setup(t, config{plans: tight(2), detect: func(ctx context.Context, r inference.Request) (inference.Result, error) {
		if r.Sensitivity != inference.Strict || r.Declared != "image" {
			return inference.Result{}, errors.New("the options were lost")
		}
		return fake(ctx, r)
	}})
	c := s.newClient(s.key("starter"))
	opts := client.DetectOptions{MediaType: "image", Sensitivity: "strict"}
	d, err := c.Detect(t.Context(), "photo.jpg", strings.NewReader("abc"), opts)
	must(t, err)
	if d.Verdict != "fake" || d.Confidence != 0.875 || d.MediaType != "image" || d.Status != "" || d.CreatedAt.IsZero() {
		t.Errorf("Detect gave %+v", d)
	}
	// A file of more than a megabyte asks for leave first; a pipe has no length.
	name := filepath.Join(t.TempDir(), "x")
	must(t, os.WriteFile(name, make([]byte, 1<<20), 0o600))
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	d, err = c.Submit(t.Context(), "photo.jpg", f, opts)
	must(t, err)
	if d.Status != client.Processing || d.PollURL != "/v1/results/"+d.ID || d.RetryAfter == 0 {
		t.Errorf("Submit gave %+v", d)
	}
	d, err = c.Wait(t.Context(), d.ID)
	must(t, err)
	if d.Status != client.Complete || d.Verdict != "fake" || d.CompletedAt.IsZero() {
		t.Errorf("Wait gave %+v", d)
	}
	if report, err := c.Report(t.Context(), d.ID); err != nil || !strings.Contains(string(report), `"probability_fake":0.875`) {
		t.Errorf("Report gave %s, %v", report, err)
	}
	u, err := c.Usage(t.Context())
	if err != nil || u.Plan != "starter" || u.ScansUsed != 2 || u.ScansRemaining != 0 || u.PeriodStart.Day() != 1 {
		t.Errorf("Usage gave %+v, %v", u, err)
	}
	_, err = c.Detect(t.Context(), "photo.jpg", io.LimitReader(zeroReader{}, 1<<20), opts)
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != "quota_exceeded" || refused.Status != 402 || refused.RequestID == "" {
		t.Errorf("a third scan was answered %v", err)
	}
}

// The client sent a file's name as it was, and a control character in it had the
// service refuse the whole form.
func TestClientSendsAnyFileName(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	c := s.newClient(s.key("pro"))
	for _, name := range []string{"", "a\x01\x7f.png", "a\r\n.png", `ends\`, `my "best" photo.jpg`, "ä\xff.png"} {
		if _, err := c.Detect(t.Context(), name, strings.NewReader("abc"), client.DetectOptions{}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
