package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// answer is a response that has been checked for what all of them have.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	raw    []byte
	closes bool // the connection, after this answer
	body   map[string]any
}

// request is one call; zero fields are left out.
type request struct {
	method, path, key string
	header            map[string]string
	contentType       string
	body              io.Reader
	length            int64 // declared; 0: as the body says
}

func (s *service) do(r request) answer {
	s.t.Helper()
	a, err := s.try(r)
	must(s.t, err)
	return a
}

func (s *service) try(r request) (answer, error) {
	req, err := http.NewRequestWithContext(context.Background(), r.method, s.url+r.path, r.body)
	if err != nil {
		return answer{}, err
	}
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if r.length != 0 {
		req.ContentLength = r.length
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	return newAnswer(s.t, resp)
}

// notJSON are the types of answers that are documents of another form.
var notJSON = []string{"application/schema+json", "text/html; charset=utf-8", "application/x-pem-file"}

// newAnswer checks what every answer must have: the rate limit headers, an id,
// JSON, and the error shape when it is one.
func newAnswer(t testing.TB, resp *http.Response) (answer, error) {
	t.Helper()
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{t: t, status: resp.StatusCode, header: resp.Header, raw: raw, closes: resp.Close}
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if n, err := strconv.Atoi(resp.Header.Get(name)); err != nil || n < 0 {
			t.Errorf("%d: %s is %q", a.status, name, resp.Header.Get(name))
		}
	}
	if resp.Header.Get("X-Request-ID") == "" {
		t.Errorf("%d: no X-Request-ID", a.status)
	}
	if resp.StatusCode == http.StatusOK && slices.Contains(notJSON, resp.Header.Get("Content-Type")) {
		return a, nil
	}
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		t.Errorf("%d: Content-Type is %q", a.status, got)
	}
	if resp.Request != nil && resp.Request.Method == http.MethodHead {
		return a, nil
	}
	if err := json.Unmarshal(raw, &a.body); err != nil {
		t.Errorf("%d: the body %q is not a JSON object: %v", a.status, raw, err)
	}
	a.checkShape()
	return a, nil
}

// checkShape holds errors to the contract's shape.
func (a answer) checkShape() {
	a.t.Helper()
	if a.status < 400 {
		return
	}
	want := []string{"error", "message"}
	if a.status == http.StatusTooManyRequests {
		want = append(want, "retry_after")
		after, _ := a.body["retry_after"].(float64)
		if after < 1 || after != float64(int(after)) {
			a.t.Errorf("retry_after is %v", a.body["retry_after"])
		}
		if got := a.header.Get("Retry-After"); got != strconv.Itoa(int(after)) {
			a.t.Errorf("Retry-After is %q beside retry_after %v", got, after)
		}
		if message := fmt.Sprint(a.body["message"]); !strings.Contains(message, strconv.Itoa(int(after))+" second") {
			a.t.Errorf("the message %q does not name the wait of %v seconds", message, after)
		}
	} else if a.header.Get("Retry-After") != "" && a.status != 503 {
		a.t.Errorf("%d: Retry-After without retry_after", a.status)
	}
	a.fields(want...)
	if message := fmt.Sprint(a.body["message"]); !strings.HasSuffix(message, ".") || len(message) < 20 {
		a.t.Errorf("%d: the message %q is no sentence", a.status, message)
	}
}

// fields fails unless the body has exactly these.
func (a answer) fields(want ...string) {
	a.t.Helper()
	got := slices.Sorted(maps.Keys(a.body))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		a.t.Errorf("%d: the body has the fields %v, want %v", a.status, got, want)
	}
}

// want fails unless the answer is the error with this status and code.
func (a answer) want(status int, code string) {
	a.t.Helper()
	if got := fmt.Sprint(a.body["error"]); a.status != status || got != code {
		a.t.Errorf("answered %d %s (%v), want %d %s", a.status, got, a.body["message"], status, code)
	}
}

// ok fails unless the answer has this status.
func (a answer) ok(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("answered %d %s, want %d", a.status, a.raw, status)
	}
	return a
}

func (a answer) text(field string) string {
	a.t.Helper()
	s, ok := a.body[field].(string)
	if !ok {
		a.t.Fatalf("the field %s is %v", field, a.body[field])
	}
	return s
}

// part is a field of a form, in order.
type part struct {
	name, value string
	file        bool
}

func file(value string) part        { return part{name: "file", value: value, file: true} }
func field(name, value string) part { return part{name: name, value: value} }
func photo() part                   { return file("\xff\xd8\xff\xe0 not looked at by the fake detector") }
func async() part                   { return field("async", "true") }
func zeros(n int) part              { return file(string(make([]byte, n))) }

// form encodes the parts.
func form(t testing.TB, parts ...part) (contentType string, body []byte) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, p := range parts {
		h := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + p.name + `"`}}
		if p.file {
			h.Set("Content-Disposition", `form-data; name="`+p.name+`"; filename="secret name.jpg"`)
			h.Set("Content-Type", "image/jpeg")
		}
		to, err := w.CreatePart(h)
		must(t, err)
		_, err = io.WriteString(to, p.value)
		must(t, err)
	}
	must(t, w.Close())
	return w.FormDataContentType(), out.Bytes()
}

// detect submits a form.
func (s *service) detect(key string, parts ...part) answer {
	s.t.Helper()
	contentType, body := form(s.t, parts...)
	return s.do(request{method: "POST", path: "/v1/detect", key: key, contentType: contentType, body: bytes.NewReader(body)})
}

func (s *service) get(key, path string) answer {
	s.t.Helper()
	return s.do(request{method: "GET", path: path, key: key})
}

// poll reads a result until it is no longer processing.
func (s *service) poll(key, id string) answer {
	s.t.Helper()
	for {
		a := s.get(key, "/v1/results/"+id).ok(http.StatusOK)
		if a.body["status"] != "processing" {
			return a
		}
	}
}
