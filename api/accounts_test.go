package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"deepfaked/api"
	"deepfaked/inference"
	"deepfaked/internal/account"
)

// broken fails in one call, as a database may.
type broken struct {
	*account.Ledger
	call string
}

// breaking has the service's accounts fail in a call.
func breaking(call string) func(*api.Options) {
	return func(o *api.Options) { o.Accounts = &broken{Ledger: o.Accounts.(*account.Ledger), call: call} }
}

var errBroken = errors.New("secret inner detail")

func (b *broken) Authenticate(ctx context.Context, token string) (account.Account, error) {
	if b.call == "Authenticate" {
		return account.Account{}, errBroken
	}
	return b.Ledger.Authenticate(ctx, token)
}

func (b *broken) Check(ctx context.Context, a account.Account) error {
	if b.call == "Check" {
		return errBroken
	}
	return b.Ledger.Check(ctx, a)
}

func (b *broken) Reserve(ctx context.Context, a account.Account, s account.Submission) error {
	switch b.call {
	case "Reserve":
		return errBroken
	case "slow":
		late, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		<-late.Done()
		return errBroken
	}
	return b.Ledger.Reserve(ctx, a, s)
}

func (b *broken) Settle(ctx context.Context, id string, o account.Outcome) (account.Detection, error) {
	switch b.call {
	case "Settle":
		return account.Detection{}, errBroken
	case "taken away":
		return account.Detection{}, fmt.Errorf("settle: %w", account.ErrNotFound)
	case "unheard":
		b.call = ""
		_, err := b.Ledger.Settle(ctx, id, o)
		return account.Detection{}, errors.Join(errBroken, err)
	}
	return b.Ledger.Settle(ctx, id, o)
}

func (b *broken) Detection(ctx context.Context, a account.Account, id string) (account.Detection, error) {
	if b.call == "Detection" {
		return account.Detection{}, errBroken
	}
	return b.Ledger.Detection(ctx, a, id)
}

func (b *broken) Usage(ctx context.Context, a account.Account) (account.Usage, error) {
	if b.call == "Usage" {
		return account.Usage{}, errBroken
	}
	return b.Ledger.Usage(ctx, a)
}

// A failure of the books is the contract's internal_error, whatever it hits,
// and holds no place.
func TestBrokenAccounts(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"Authenticate", "Check", "Reserve", "Settle", "Detection", "Usage"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			var b *broken
			s := setup(t, config{plans: tight(1), api: func(o *api.Options) {
				b = &broken{Ledger: o.Accounts.(*account.Ledger)}
				o.Accounts = b
			}})
			key := s.key("pro")
			b.call = call
			var answers []answer
			switch call {
			case "Detection":
				answers = []answer{s.get(key, "/v1/results/det_x"), s.get(key, "/v1/results/det_x/report")}
			case "Usage":
				answers = []answer{s.get(key, "/v1/usage")}
			default:
				answers = []answer{s.detect(key, photo())}
			}
			for _, a := range answers {
				a.want(500, "internal_error")
				if strings.Contains(string(a.raw), "secret") {
					t.Errorf("the answer shows the cause: %s", a.raw)
				}
			}
			b.call = ""
			s.detect(key, photo()).ok(200)
		})
	}
}

// A process that the database has not heard of for long loses the places of what it
// judges. One that woke up in the middle of a synchronous submission answered 404, for
// an id that the client had never sent, and so told it not to try again.
func TestPlaceTakenAway(t *testing.T) {
	t.Parallel()
	s := setup(t, config{api: breaking("taken away")})
	s.detect(s.key("pro"), photo()).want(500, "internal_error")
}

// Where the books took a result and the word of it was lost, the client was told that
// nothing was counted, and it was.
func TestSettledUnheard(t *testing.T) {
	t.Parallel()
	s := setup(t, config{api: breaking("unheard")})
	key := s.key("pro")
	s.detect(key, photo()).ok(200)
	if used := s.usage(key).Used; used != 1 {
		t.Errorf("%d scans are counted", used)
	}
}

// A place that the books refused too late for the deadline was told as an analysis
// that took too long, though there had been none.
func TestRefusedLate(t *testing.T) {
	t.Parallel()
	s := setup(t, config{api: func(o *api.Options) {
		breaking("slow")(o)
		o.SyncDeadline = 10 * time.Millisecond
	}, detect: func(_ context.Context, r inference.Request) (inference.Result, error) {
		return inference.Result{}, r.Admitted()
	}})
	a := s.detect(s.key("pro"), photo())
	a.want(500, "internal_error")
	if strings.Contains(a.text("message"), "took too long") {
		t.Errorf("the message is %q", a.text("message"))
	}
}

func (s *service) neverLogged(secrets ...string) {
	s.t.Helper()
	must(s.t, s.stop())
	for _, secret := range secrets {
		if strings.Contains(s.logs.String(), secret) {
			s.t.Errorf("the log holds %q: %s", secret, s.logs)
		}
	}
}

// Section 5: which keys are good.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	valid, revoked := s.key("pro"), s.key("pro")
	_, err := s.ledger.RevokeKey(t.Context(), revoked)
	must(t, err)
	for name, c := range map[string]struct {
		header string
		status int
	}{
		"5 valid":                  {"Bearer " + valid, 200},
		"scheme in lower case":     {"bearer " + valid, 200},
		"scheme in upper case":     {"BEARER " + valid, 200},
		"two spaces":               {"Bearer  " + valid, 200},
		"5 missing":                {"", 401},
		"5 malformed: no scheme":   {valid, 401},
		"5 malformed: basic":       {"Basic " + valid, 401},
		"5 malformed: no key":      {"Bearer", 401},
		"5 malformed: short":       {"Bearer " + valid[:20], 401},
		"5 malformed: more after":  {"Bearer " + valid + " x", 401},
		"5 malformed: other bytes": {"Bearer dfk_\x80\x81", 401},
		"5 never issued":           {"Bearer " + valid[:len(valid)-1] + string(valid[len(valid)-1]^1), 401},
		"5 revoked":                {"Bearer " + revoked, 401},
	} {
		for _, target := range [][2]string{{"GET", "/v1/usage"}, {"GET", "/v1/results/det_x"}, {"POST", "/v1/detect"}, {"GET", "/v1/results/det_x/report"}} {
			if c.status == 200 && target[1] != "/v1/usage" {
				continue
			}
			r := request{method: target[0], path: target[1], header: map[string]string{}}
			if c.header != "" {
				r.header["Authorization"] = c.header
			}
			a := s.do(r)
			if c.status == 200 {
				a.ok(200)
				continue
			}
			a.want(401, "unauthorized")
			if a.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: WWW-Authenticate is %q", name, a.header.Get("WWW-Authenticate"))
			}
		}
	}
	s.neverLogged(valid, revoked)
}
