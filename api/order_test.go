package api_test

import (
	"bytes"
	"io"
	"slices"
	"testing"
	"time"

	"deepfaked/internal/account"
	"deepfaked/internal/job"
)

// violation is one thing that can be wrong with a submission, and how to make
// it so.
type violation struct {
	name    string
	status  int
	code    string
	key     func(s *service, key string) string // before the call
	account func(s *service, key string)
	parts   func(parts []part) []part
}

// violations are in the order of the decisions: 401, 429, 402 async, 402 quota,
// 413, 400, 415.
var violations = []violation{
	{name: "no key", status: 401, code: "unauthorized", key: func(*service, string) string { return "dfk_none" }},
	{name: "over the minute", status: 429, code: "rate_limited", account: func(s *service, key string) {
		for range 5 {
			s.get(key, "/v1/usage")
		}
	}},
	{name: "over the day", status: 429, code: "rate_limited", account: reserveAndRelease(2)},
	{name: "async", status: 402, code: "async_not_allowed", parts: func(parts []part) []part { return append(parts, async()) }},
	{name: "over the quota", status: 402, code: "quota_exceeded", account: func(s *service, key string) { s.use(key, 2) }},
	{name: "too large", status: 413, code: "payload_too_large", parts: func(parts []part) []part {
		return replaceFile(parts, zeros(1<<20+1))
	}},
	{name: "bad field", status: 400, code: "invalid_request", parts: func(parts []part) []part {
		return slices.Insert(parts, 0, field("sensitivity", "high"))
	}},
	{name: "empty", status: 400, code: "empty_file", parts: func(parts []part) []part {
		if len(file0(parts).value) > 100 {
			return parts
		}
		return replaceFile(parts, file(""))
	}},
	{name: "not media", status: 415, code: "unsupported_media_type"},
}

// Decisions, order of checks on POST: whatever two things are wrong, the
// earlier one is answered; async before and after the file alike.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	for i, first := range violations {
		for _, second := range violations[i+1:] {
			if first.name == "too large" && second.name == "empty" {
				continue
			}
			t.Run(first.name+" and "+second.name, func(t *testing.T) {
				t.Parallel()
				plans := account.DefaultPlans()
				plans[0].Scans, plans[0].Daily = 2, 1000
				if first.name == "over the day" || second.name == "over the day" {
					plans[0].Daily = 2
				}
				s := setup(t, config{plans: plans, detect: failing(notMedia)})
				key, parts := s.key("free"), []part{photo()}
				for _, v := range []violation{second, first} { // the quota can't be used up on a day that is
					if v.parts != nil {
						parts = v.parts(parts)
					}
					if v.account != nil {
						v.account(s, key)
					}
				}
				for _, v := range []violation{first, second} {
					if v.key != nil {
						key = v.key(s, key)
					}
				}
				s.detect(key, parts...).want(first.status, first.code)
			})
		}
	}
}

// reserveAndRelease uses up n submissions of the day and nothing of the quota.
func reserveAndRelease(n int) func(*service, string) {
	return func(s *service, key string) {
		a, err := s.ledger.Authenticate(s.t.Context(), key)
		must(s.t, err)
		for range n {
			id := account.NewDetectionID()
			if s.ledger.Reserve(s.t.Context(), a, account.Submission{ID: id, Sensitivity: "balanced"}) == nil {
				must(s.t, s.ledger.Release(s.t.Context(), id))
			}
		}
	}
}

func file0(parts []part) part {
	for _, p := range parts {
		if p.name == "file" {
			return p
		}
	}
	return part{}
}

func replaceFile(parts []part, with part) []part {
	out := slices.Clone(parts)
	for i := range out {
		if out[i].name == "file" {
			out[i] = with
		}
	}
	return out
}

// What is decided without reading the body, and what needs the form.
func TestOrderOfChecksOnStreams(t *testing.T) {
	t.Parallel()
	const tooLong = 2 << 20
	for name, c := range map[string]struct {
		plan      string
		exhausted bool
		parts     []part
		length    int64 // declared
		status    int
		code      string
	}{
		"Content-Length beyond the limit":                   {"pro", false, []part{photo()}, tooLong, 413, "payload_too_large"},
		"Content-Length beyond the limit, quota used up":    {"pro", true, []part{photo()}, tooLong, 402, "quota_exceeded"},
		"the same on a plan without async":                  {"free", true, []part{async(), photo()}, tooLong, 402, "quota_exceeded"},
		"quota used up, async allowed":                      {"pro", true, []part{async(), photo()}, 0, 402, "quota_exceeded"},
		"quota used up, async not allowed, before the file": {"free", true, []part{async(), photo()}, 0, 402, "async_not_allowed"},
		"quota used up, async not allowed, after the file":  {"free", true, []part{photo(), async()}, 0, 402, "async_not_allowed"},
		"quota used up, no async":                           {"free", true, []part{photo()}, 0, 402, "quota_exceeded"},
		"quota used up, async bad":                          {"free", true, []part{photo(), field("async", "maybe")}, 0, 402, "quota_exceeded"},
		"file too large, async not allowed after it":        {"free", false, []part{zeros(1<<20 + 1), async()}, -1, 402, "async_not_allowed"},
		"file too large, quota used up":                     {"free", true, []part{zeros(1<<20 + 1)}, -1, 402, "quota_exceeded"},
		"file too large, bad field after it":                {"free", false, []part{zeros(1<<20 + 1), field("media_type", "text")}, -1, 413, "payload_too_large"},
		"bad field before a file that is too large":         {"pro", false, []part{field("media_type", "text"), zeros(1<<20 + 1)}, -1, 413, "payload_too_large"},
		"bad field and an empty file":                       {"pro", false, []part{file(""), field("media_type", "text")}, 0, 400, "invalid_request"},
		"body too long without a file":                      {"pro", false, []part{field("x", string(make([]byte, 1<<20+64<<10))), photo()}, -1, 413, "payload_too_large"},
		"a file and too much after it":                      {"free", false, []part{photo(), field("x", string(make([]byte, 1<<20+64<<10)))}, -1, 413, "payload_too_large"},
		"a file too large and too much after it":            {"free", false, []part{zeros(1<<20 + 1), field("x", string(make([]byte, 64<<10))), async()}, -1, 413, "payload_too_large"},
		"async twice, the first true":                       {"free", false, []part{async(), photo(), async()}, 0, 402, "async_not_allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t, config{plans: tight(1)})
			key := s.key(c.plan)
			if c.exhausted {
				s.use(key, 1)
			}
			contentType, body := form(t, c.parts...)
			r := request{method: "POST", path: "/v1/detect", key: key, contentType: contentType, body: readerOf(body), length: c.length}
			if c.length > 0 {
				r.body = io.MultiReader(readerOf(body), readerOf(make([]byte, int(c.length)-len(body))))
			}
			s.do(r).want(c.status, c.code)
		})
	}
}

// A full reservation counts like a used scan, and comes back when it fails.
func TestReservationIsReleased(t *testing.T) {
	t.Parallel()
	s := setup(t, config{plans: tight(1), detect: failing(notMedia)})
	key := s.key("starter")
	for range 3 {
		s.detect(key, photo()).want(415, "unsupported_media_type")
		id := s.detect(key, photo(), async()).ok(202).text("id")
		if got := s.poll(key, id).text("status"); got != "failed" {
			t.Errorf("the job is %s", got)
		}
	}
	s.detector.detect = fake
	s.detect(key, photo()).ok(200)
	s.detect(key, photo()).want(402, "quota_exceeded")
}

func readerOf(b []byte) io.Reader { return bytes.NewReader(b) }

func jobOptions(workers, queue int) job.Options {
	opts := job.DefaultOptions()
	opts.Workers, opts.Queue, opts.Retry = workers, queue, time.Millisecond
	return opts
}
