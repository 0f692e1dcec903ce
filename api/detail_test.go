package api_test

import (
	"context"
	"strings"
	"testing"

	"deepfaked/inference"
)

// detail=true adds four fields to a finished result. Without it the contract's are all that there are.
func TestDetail(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := setup(t, config{detect: func(ctx context.Context, r inference.Request) (inference.Result, error) {
		if r.Priority == inference.Background {
			<-release
		}
		out, err := judged(ctx, r)
		out.Report.Reasons = []inference.Reason{{Code: inference.NoFace, Text: inference.NoFace.Text()}}
		return out, err
	}})
	key := s.key("pro")
	short := []string{"id", "verdict", "confidence", "media_type", "created_at"}
	complete := append([]string{"status", "completed_at"}, short...)
	more := []string{"probability_fake", "threshold", "assessment", "reasons"}
	long, longComplete := append(more, short...), append(more, complete...)

	for value, want := range map[string][]string{"true": long, "True": long, "false": short, "": short} {
		s.detect(key, field("detail", value), photo()).ok(200).fields(want...)
	}
	a := s.detect(key, photo(), field("detail", "true")).ok(200)
	reasons, _ := a.body["reasons"].([]any)
	if a.body["probability_fake"] != .875 || a.body["threshold"] != .5 || a.body["assessment"] != "likely_fake" || len(reasons) != 1 {
		t.Errorf("answered %s", a.raw)
	}
	id := a.text("id")
	for query, want := range map[string][]string{"?detail=true": longComplete, "?detail=TRUE": longComplete, "?detail=false": complete, "?detail=": complete, "": complete} {
		s.get(key, "/v1/results/"+id+query).ok(200).fields(want...)
	}
	job := s.detect(key, field("detail", "true"), async(), photo()).ok(202)
	job.fields("id", "status", "poll_url")
	s.get(key, job.text("poll_url")+"?detail=true").ok(200).fields("id", "status", "poll_url", "created_at")
	close(release)
	s.poll(key, job.text("id"))
	s.get(key, job.text("poll_url")+"?detail=true").ok(200).fields(longComplete...)
}

// What is neither true nor false is told so, by its name.
func TestWrongDetail(t *testing.T) {
	t.Parallel()
	s := setup(t, config{detect: judged})
	key := s.key("pro")
	id := s.detect(key, photo()).ok(200).text("id")
	for _, a := range []answer{
		s.detect(key, field("detail", "yes"), photo()), s.detect(key, field("detail", "true"), field("detail", "true"), photo()),
		s.get(key, "/v1/results/"+id+"?detail=1"),
	} {
		a.want(400, "invalid_request")
		if !strings.Contains(a.text("message"), " detail ") {
			t.Errorf("answered %s", a.raw)
		}
	}
}
