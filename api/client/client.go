package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// maxRetryAfter bounds the wait that is taken from an answer. The service suggests no
// more than a day, until a plan's daily limit begins anew.
const maxRetryAfter = 24 * time.Hour

// Options says which service is called, and as whom.
type Options struct {
	BaseURL string       // such as http://127.0.0.1:8080
	Key     string       // the API key
	HTTP    *http.Client // nil: http.DefaultClient
}

// Client calls one service with one key. It is safe for concurrent use.
type Client struct {
	base string
	key  string
	http *http.Client
}

// New checks the options; it calls nothing.
func New(opts Options) (*Client, error) {
	u, err := url.Parse(opts.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("the base URL %q must begin with http:// or https:// and name a host", opts.BaseURL)
	}
	if strings.ContainsAny(opts.BaseURL, "?#") {
		return nil, fmt.Errorf("the base URL %q must end with its host or a path: what follows ? or # would hide the paths of the interface", opts.BaseURL)
	}
	if opts.Key == "" {
		return nil, errors.New("the API key must be set")
	}
	calls := *cmp.Or(opts.HTTP, http.DefaultClient) // the caller's own stays as it is
	calls.CheckRedirect = stay(calls.CheckRedirect)
	return &Client{base: strings.TrimRight(opts.BaseURL, "/"), key: opts.Key, http: &calls}, nil
}

// stay follows no redirect of a submission: it would go on as a GET without its file.
// Of other calls it does what next does, or net/http without one.
func stay(next func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		switch {
		case via[0].Method == http.MethodPost:
			return http.ErrUseLastResponse
		case next != nil:
			return next(r, via)
		case len(via) >= 10:
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}
}

// The states of a submitted detection.
const (
	Processing = "processing"
	Complete   = "complete"
	Failed     = "failed"
)

// Detection is what the service says of one. Which fields are set depends on
// the call and the state: the contract lists them.
type Detection struct {
	ID          string    `json:"id"`
	Status      string    `json:"status"` // empty in the answer to Detect
	Verdict     string    `json:"verdict"`
	Confidence  float64   `json:"confidence"` // how sure the verdict is, from 0.5 on
	MediaType   string    `json:"media_type"`
	PollURL     string    `json:"poll_url"`
	Error       string    `json:"error"` // why it failed
	CreatedAt   time.Time `json:"created_at"`
	CompletedAt time.Time `json:"completed_at"`

	// RetryAfter is when the service suggests to ask again, a day at most; 0 when it
	// doesn't.
	RetryAfter time.Duration `json:"-"`
}

// Usage is what the account has used of its plan.
type Usage struct {
	Plan           string    `json:"plan"`
	ScansUsed      int       `json:"scans_used"`
	ScansLimit     int       `json:"scans_limit"`
	ScansRemaining int       `json:"scans_remaining"`
	PeriodStart    time.Time `json:"period_start"`
}

// Result reads a detection. Errors are those of Detect.
func (c *Client) Result(ctx context.Context, id string) (Detection, error) {
	var d Detection
	wait, err := c.get(ctx, "/v1/results/"+url.PathEscape(id), &d)
	d.RetryAfter = wait
	return d, err
}

// Report reads everything else that is known of a finished detection, as JSON.
func (c *Client) Report(ctx context.Context, id string) (json.RawMessage, error) {
	var report json.RawMessage
	_, err := c.get(ctx, "/v1/results/"+url.PathEscape(id)+"/report", &report)
	return report, err
}

// Usage reads what the account has used.
func (c *Client) Usage(ctx context.Context) (Usage, error) {
	var u Usage
	_, err := c.get(ctx, "/v1/usage", &u)
	return u, err
}

func (c *Client) get(ctx context.Context, path string, into any) (time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return 0, fmt.Errorf("make the request: %w", err)
	}
	return c.do(r, into)
}

// do sends r and reads the answer into the value. It returns the wait that the
// service suggests.
func (c *Client) do(r *http.Request, into any) (time.Duration, error) {
	r.Header.Set("Authorization", "Bearer "+c.key)
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, &url.Error{Op: "read the answer of", URL: r.URL.Redacted(), Err: err}
	}
	wait := retryAfter(resp.Header)
	if resp.StatusCode/100 != 2 {
		return wait, newError(resp, body, wait)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return wait, fmt.Errorf("understand the answer: %w", err)
	}
	return wait, nil
}

// retryAfter understands both forms of the header: seconds, and a date.
func retryAfter(h http.Header) time.Duration {
	said := h.Get("Retry-After")
	if at, err := http.ParseTime(said); err == nil {
		return min(max(time.Until(at), 0), maxRetryAfter)
	}
	seconds, _ := strconv.ParseUint(said, 10, 64) // 0 for what is no number, and the largest for one that is larger
	return waitOf(seconds)
}

// waitOf is so many seconds, bounded before they can overflow.
func waitOf(seconds uint64) time.Duration {
	return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
}
