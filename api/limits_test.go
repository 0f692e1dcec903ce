package api_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"deepfaked/api"
	"deepfaked/inference"
	"deepfaked/internal/account"
)

func (a answer) rate() (limit, remaining, reset int) {
	a.t.Helper()
	limit, _ = strconv.Atoi(a.header.Get("X-RateLimit-Limit"))
	remaining, _ = strconv.Atoi(a.header.Get("X-RateLimit-Remaining"))
	reset, _ = strconv.Atoi(a.header.Get("X-RateLimit-Reset"))
	return limit, remaining, reset
}

// Section 8, plan limits: requests per minute, and the headers; decisions:
// every authenticated request counts, in a fixed window.
func TestRequestsPerMinute(t *testing.T) {
	t.Parallel()
	for plan, limit := range map[string]int{"free": 5, "starter": 20, "pro": 60} {
		t.Run("8 "+plan, func(t *testing.T) {
			t.Parallel()
			s := setup(t, config{plans: account.DefaultPlans()})
			key := s.key(plan)
			paths := []string{"/v1/usage", "/v1/results/det_x", "/v1/nothing", "/v1/results/det_x/report"}
			for i := range limit {
				if gotLimit, remaining, reset := s.get(key, paths[i%4]).rate(); gotLimit != limit || remaining != limit-i-1 || reset != 60 {
					t.Fatalf("request %d: limit %d, remaining %d, reset %d", i, gotLimit, remaining, reset)
				}
			}
			s.clock.advance(18500 * time.Millisecond)
			a := s.get(key, "/v1/usage")
			a.want(429, "rate_limited")
			if _, remaining, reset := a.rate(); remaining != 0 || reset != 42 || a.body["retry_after"] != 42.0 {
				t.Errorf("refused with remaining %d, reset %d, retry_after %v; want 0, 42, 42", remaining, reset, a.body["retry_after"])
			}
			s.get(s.key(plan), "/v1/usage").ok(200) // another account has its own window
			s.clock.advance(41500 * time.Millisecond)
			if _, remaining, _ := s.get(key, "/v1/usage").ok(200).rate(); remaining != limit-1 {
				t.Errorf("a new window has %d remaining", remaining)
			}
		})
	}
}

// The headers of an answer that took long told where the limit had stood when the request came: a
// client that had none left waited for as much longer, and was told of windows that were over.
func TestRateLimitOfSlowAnswers(t *testing.T) {
	t.Parallel()
	s := setup(t, config{plans: account.DefaultPlans(), detect: func(ctx context.Context, r inference.Request) (inference.Result, error) {
		<-time.After(1100 * time.Millisecond)
		return fake(ctx, r)
	}})
	key := s.key("pro")
	if limit, remaining, reset := s.detect(key, photo()).ok(200).rate(); limit != 60 || remaining != 59 || reset >= 60 {
		t.Errorf("limit %d, remaining %d, reset %d", limit, remaining, reset)
	}
	s.clock.advance(59 * time.Second)
	// After the window's end nothing is known of the next, in which others may have asked: it was told to be untouched.
	if limit, remaining, reset := s.detect(key, photo()).ok(200).rate(); limit != 60 || remaining != 58 || reset != 1 {
		t.Errorf("after the window: limit %d, remaining %d, reset %d", limit, remaining, reset)
	}
}

// Decisions: rate limit headers without a valid key.
func TestAddressLimit(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	key := s.key("pro")
	for i := range 60 {
		r := request{method: "GET", path: "/v1/usage"}
		if i%2 == 1 {
			r.key = "dfk_guess"
		}
		if i%3 == 2 {
			r.path = "/nothing"
		}
		a := s.do(r)
		if limit, remaining, _ := a.rate(); limit != 60 || remaining != 59-i || a.status == 429 {
			t.Fatalf("request %d: %d, limit %d, remaining %d", i, a.status, limit, remaining)
		}
		s.get(key, "/v1/usage").ok(200) // never counted against the address
	}
	s.get("", "/v1/usage").want(429, "rate_limited")
	s.get("dfk_guess", "/v1/usage").want(429, "rate_limited")
	s.get("", "/nothing").want(429, "rate_limited")
	s.detect("", photo()).want(429, "rate_limited")
	if limit, _, _ := s.get(key, "/v1/usage").ok(200).rate(); limit != 100_000 {
		t.Errorf("a valid key sees the limit %d", limit)
	}
	s.clock.advance(time.Minute)
	s.get("", "/v1/usage").want(401, "unauthorized")
}

// The address is the peer's; X-Forwarded-For counts only from a trusted proxy. A client
// behind one chose a new X-Real-IP for each request and was never limited; and behind
// one that forwards ports, IPv6 in brackets or zones, all shared one limit.
func TestForwardedAddress(t *testing.T) {
	t.Parallel()
	const untrusted = "not trusted"
	for name, c := range map[string]struct {
		first, second string // X-Forwarded-For
		remaining     int    // after both
	}{
		untrusted:       {"2001:db8::1", "2001:db8:0:1::2", 58},
		"without ports": {"2001:db8::1", "2001:db8:0:1::2", 59},
		"none":          {"", "", 58},
		"no address":    {"junk", "junk", 58},
		"port":          {"203.0.113.5:1000", "203.0.113.5:2000", 58},
		"another":       {"203.0.113.5:1000", "203.0.113.6:1000", 59},
		"claimed first": {"198.51.100.1, 203.0.113.5:1000", "198.51.100.2, 203.0.113.5:1000", 58},
		"IPv6":          {"[2001:db8::1]:1000", "[2001:db8:0:1::1]:1000", 59},
		"brackets":      {"[2001:db8::1]", "[2001:db8:0:1::1]", 59},
		"one network":   {"[2001:db8::1]", "2001:db8::2", 58},
		"zone":          {"2001:db8::1%eth0", "2001:db8:0:1::1%eth0", 59},
		"port and zone": {"[2001:db8::1%eth0]:1000", "[2001:db8:0:1::1%eth0]:1000", 59},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t, config{api: func(o *api.Options) {
				if name != untrusted {
					o.TrustedProxies = []string{"127.0.0.0/8"}
				}
			}})
			ask := func(forwarded, chosen string) int {
				header := map[string]string{"X-Forwarded-For": forwarded, "X-Real-IP": chosen}
				_, remaining, _ := s.do(request{method: "GET", path: "/v1/usage", header: header}).rate()
				return remaining
			}
			if first, second := ask(c.first, "192.0.2.1"), ask(c.second, "192.0.2.2"); first != 59 || second != c.remaining {
				t.Errorf("remaining %d, then %d, want 59, then %d", first, second, c.remaining)
			}
		})
	}
}

// Section 8: the daily limit of Free. Decisions: submissions accepted in a UTC
// day, retry_after up to the next 00:00 UTC.
func TestDailyLimit(t *testing.T) {
	t.Parallel()
	plans := account.DefaultPlans()
	plans[0].RequestsPerMinute = 1000
	s := setup(t, config{plans: plans})
	key := s.key("free")
	for range 10 {
		s.detect(key).want(400, "invalid_request") // not accepted, so not counted
		s.detect(key, photo()).ok(200)
	}
	a := s.detect(key, photo())
	a.want(429, "rate_limited")
	if got, want := a.body["retry_after"], float64(8*3600+50*60+34); got != want { // from 15:09:26.5
		t.Errorf("retry_after is %v, want %v", got, want)
	}
	s.get(key, "/v1/usage").ok(200)
	s.clock.advance(8*time.Hour + 50*time.Minute + 33*time.Second)
	s.detect(key, photo()).want(429, "rate_limited")
	s.clock.advance(time.Second)
	s.detect(key, photo()).ok(200)
}

// Section 8: scans of each plan, and what /v1/usage says of them (2.2).
func TestScanAllowance(t *testing.T) {
	t.Parallel()
	plans := widePlans()
	for i := range plans {
		plans[i].Scans /= 100
	}
	s := setup(t, config{plans: plans})
	for plan, scans := range map[string]int{"free": 2, "starter": 20, "pro": 100} {
		key := s.key(plan)
		s.use(key, scans-1)
		u := s.get(key, "/v1/usage").ok(200).body
		if u["plan"] != plan || u["scans_used"] != float64(scans-1) || u["scans_limit"] != float64(scans) || u["scans_remaining"] != 1.0 {
			t.Errorf("%s: usage is %v", plan, u)
		}
		s.detect(key, photo()).ok(200)
		s.detect(key, photo()).want(402, "quota_exceeded")
		s.get(key, "/v1/usage").ok(200) // only submissions are refused
		if u := s.usage(key); u.Used != scans || u.Remaining != 0 {
			t.Errorf("%s: usage is %+v", plan, u)
		}
	}
	paid, free := s.key("starter"), s.key("free")
	s.use(paid, 20)
	s.use(free, 2)
	s.clock.advance(20 * 24 * time.Hour) // into April
	s.detect(paid, photo()).ok(200)
	s.detect(free, photo()).want(402, "quota_exceeded")
	if got := s.get(paid, "/v1/usage").text("period_start"); got != "2026-04-01T00:00:00.000Z" {
		t.Errorf("period_start is %s", got)
	}
}

// The contract's plan numbers, as the service reports them.
func TestPlanNumbers(t *testing.T) {
	t.Parallel()
	s := setup(t, config{plans: account.DefaultPlans()})
	for plan, want := range map[string][2]int{"free": {5, 200}, "starter": {20, 2000}, "pro": {60, 10000}} {
		a := s.get(s.key(plan), "/v1/usage").ok(200)
		if limit, _, _ := a.rate(); limit != want[0] || a.body["scans_limit"] != float64(want[1]) || a.body["scans_used"] != 0.0 {
			t.Errorf("%s: %d a minute, %s", plan, limit, a.raw)
		}
	}
}

// Decisions, quota: parallel requests cannot overrun the allowance.
func TestParallelSubmissionsKeepTheQuota(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]part{"synchronous": {photo()}, "asynchronous": {async(), photo()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			s := setup(t, config{plans: tight(10), detect: after(release)})
			key := s.key("starter")
			contentType, body := form(t, parts...)
			answers := make(chan int, 50)
			for range 50 {
				go func() {
					a, err := s.try(request{method: "POST", path: "/v1/detect", key: key, contentType: contentType, body: readerOf(body)})
					if err != nil {
						t.Error(err)
					}
					answers <- a.status
				}()
			}
			got := map[int]int{}
			for got[http.StatusPaymentRequired] < 40 && !t.Failed() {
				got[<-answers]++
			}
			if used := s.usage(key).Used; used != 0 {
				t.Errorf("%d scans are counted while they are only reserved", used)
			}
			close(release)
			for got[402]+got[200]+got[202]+got[0] < 50 && !t.Failed() {
				got[<-answers]++
			}
			if got[402] != 40 || got[200]+got[202] != 10 {
				t.Errorf("50 submissions were answered %v, want 10 accepted", got)
			}
			s.jobsDone()
			must(t, s.stop())
			if u := s.usage(key); u.Used != 10 || u.Remaining != 0 {
				t.Errorf("usage is %+v", u)
			}
		})
	}
}

// The number of uploads at the same time is bounded.
func TestUploadsAreBounded(t *testing.T) {
	t.Parallel()
	s := setup(t, config{api: func(o *api.Options) { o.Uploads, o.UploadRetry = 1, 9*time.Second }})
	key := s.key("pro")
	slow := s.begin(key, photo())
	slow.write(len(slow.body) - 1)
	s.receiving()
	a := s.detect(key, photo())
	a.want(429, "rate_limited")
	if a.body["retry_after"] != 9.0 {
		t.Errorf("retry_after is %v", a.body["retry_after"])
	}
	slow.rest().ok(200)
	s.detect(key, photo()).ok(200)
}

// One key could close the service to everybody: it opened all 64 uploads and
// fed each a few bytes a second for hours, and every other account was told to
// come back later.
func TestUploadsOfOneAccountAreBounded(t *testing.T) {
	t.Parallel()
	s := setup(t, config{api: func(o *api.Options) { o.Uploads, o.UploadsPerAccount, o.UploadRetry = 3, 2, 9*time.Second }})
	greedy, other := s.key("pro"), s.key("pro")
	var held []*upload
	for n := range 2 {
		u := s.begin(greedy, photo())
		u.write(len(u.body) - 1)
		s.receivingFiles(n + 1)
		held = append(held, u)
	}
	a := s.detect(greedy, photo())
	a.want(429, "rate_limited")
	if a.body["retry_after"] != 9.0 || !strings.Contains(a.text("message"), "The account is sending") {
		t.Errorf("answered %s", a.raw)
	}
	s.detect(other, photo()).ok(200)

	// With the last place taken, the account's own limit is still what is named.
	last := s.begin(other, photo())
	last.write(len(last.body) - 1)
	s.receivingFiles(3)
	for key, message := range map[string]string{greedy: "The account is sending", other: "The service has more work"} {
		if a := s.detect(key, photo()); !strings.Contains(a.text("message"), message) {
			t.Errorf("answered %s, want %q", a.raw, message)
		}
	}
	for _, u := range append(held, last) {
		u.rest().ok(200)
	}
	s.detect(greedy, photo()).ok(200)
}

// What is wrong with a submission goes before the account's limit on uploads,
// as it goes before the service's.
func TestUploadsOfOneAccountInTheOrderOfChecks(t *testing.T) {
	t.Parallel()
	s := setup(t, config{plans: tight(1), api: func(o *api.Options) { o.UploadsPerAccount = 1 }})
	key := s.key("pro")
	slow := s.begin(key, photo())
	slow.write(len(slow.body) - 1)
	s.receiving()
	tooLong := request{method: "POST", path: "/v1/detect", key: key, contentType: "multipart/form-data; boundary=x",
		body: readerOf(make([]byte, 2<<20)), length: 2 << 20}
	s.do(tooLong).want(413, "payload_too_large")
	s.use(key, 1)
	s.detect(key, photo()).want(402, "quota_exceeded")
	slow.rest().want(402, "quota_exceeded")
}

// Jobs: queue full is 429, and the place is released.
func TestJobQueueFull(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	started := make(chan struct{}, 10)
	s := setup(t, config{plans: tight(3), jobs: jobOptions(1, 1), detect: func(ctx context.Context, r inference.Request) (inference.Result, error) {
		started <- struct{}{}
		<-release
		return fake(ctx, r)
	}})
	key := s.key("starter")
	first := s.detect(key, async(), photo()).ok(202).text("id")
	<-started
	second := s.detect(key, async(), photo()).ok(202).text("id")
	for range 3 { // would be quota_exceeded had the first refusal kept its place
		a := s.detect(key, async(), photo())
		a.want(429, "rate_limited")
		if a.body["retry_after"] != 10.0 {
			t.Errorf("retry_after is %v", a.body["retry_after"])
		}
	}
	close(release)
	for _, id := range []string{first, second} {
		if got := s.poll(key, id).text("status"); got != "complete" {
			t.Errorf("the job is %s", got)
		}
	}
}
