package api_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"deepfaked/api"
	"deepfaked/inference"
)

// upload is a submission over a connection of its own, sent piece by piece.
type upload struct {
	s    *service
	conn net.Conn
	in   *bufio.Reader
	body []byte
}

// begin sends the head of a submission and nothing of its body.
func (s *service) begin(key string, parts ...part) *upload {
	s.t.Helper()
	contentType, body := form(s.t, parts...)
	u := s.dial(body)
	u.send(head(key, contentType, len(body), ""))
	return u
}

func (s *service) dial(body []byte) *upload {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.server.Addr().String())
	must(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	must(s.t, conn.SetDeadline(time.Now().Add(5*time.Minute)))
	return &upload{s: s, conn: conn, in: bufio.NewReader(conn), body: body}
}

func head(key, contentType string, length int, more string) string {
	return fmt.Sprintf("POST /v1/detect HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n",
		key, contentType, length, more)
}

func (u *upload) send(text string) {
	u.s.t.Helper()
	_, err := io.WriteString(u.conn, text)
	must(u.s.t, err)
}

// write sends the next n bytes of the body.
func (u *upload) write(n int) {
	u.s.t.Helper()
	u.send(string(u.body[:n]))
	u.body = u.body[n:]
}

// rest sends what is left and reads the answer.
func (u *upload) rest() answer {
	u.s.t.Helper()
	u.write(len(u.body))
	return u.answer()
}

func (u *upload) answer() answer {
	u.s.t.Helper()
	resp, err := http.ReadResponse(u.in, nil)
	must(u.s.t, err)
	a, err := newAnswer(u.s.t, resp)
	must(u.s.t, err)
	return a
}

// ended fails unless the server has closed the connection.
func (u *upload) ended() {
	u.s.t.Helper()
	if _, err := u.in.ReadByte(); err == nil || strings.Contains(err.Error(), "timeout") {
		u.s.t.Errorf("the connection is still open: %v", err)
	}
}

// receiving waits until the server is taking an upload in.
func (s *service) receiving() { s.receivingFiles(1) }

// receivingFiles waits until the server is taking in n uploads.
func (s *service) receivingFiles(n int) {
	for {
		if files, _ := s.spool.Usage(); files == int64(n) {
			return
		}
		runtime.Gosched()
	}
}

// stream is a form whose file of n zero bytes is made while it is sent.
func stream(t *testing.T, n int64) (contentType string, body io.Reader, length int64) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	_, err := w.CreateFormFile("file", "x")
	must(t, err)
	at := out.Len()
	must(t, w.Close())
	before, after := bytes.Clone(out.Bytes()[:at]), bytes.Clone(out.Bytes()[at:])
	return w.FormDataContentType(), io.MultiReader(bytes.NewReader(before), io.LimitReader(zeroReader{}, n), bytes.NewReader(after)),
		int64(out.Len()) + n
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Section 8, maximum file size, and the decision on it, at the real limit.
// Not parallel: it measures what the process allocates.
func TestFileSize(t *testing.T) {
	const limit = 104_857_600
	size, sum := int64(0), ""
	s := setup(t, config{
		api: func(o *api.Options) { o.FileBytes, o.FormBytes = limit, 1<<20 },
		detect: func(ctx context.Context, r inference.Request) (inference.Result, error) {
			h := sha256.New()
			size, _ = io.Copy(h, io.NewSectionReader(r.File, 0, r.Size))
			sum = hex.EncodeToString(h.Sum(nil))
			return fake(ctx, r)
		},
	})
	key := s.key("pro")
	for name, c := range map[string]struct {
		bytes   int64
		chunked bool
		status  int
	}{
		"104,857,600 bytes":                 {limit, false, 200},
		"104,857,600 bytes, chunked":        {limit, true, 200},
		"one more":                          {limit + 1, false, 413},
		"one more, chunked":                 {limit + 1, true, 413},
		"the body over 1 MiB more":          {limit + 1<<20, false, 413},
		"the body over 1 MiB more, chunked": {limit + 1<<20, true, 413},
	} {
		before := allocated()
		contentType, body, length := stream(t, c.bytes)
		if c.chunked {
			length = -1
		}
		a := s.do(request{method: "POST", path: "/v1/detect", key: key, contentType: contentType, body: body, length: length})
		grew := allocated() - before
		if a.status != c.status {
			t.Errorf("%s: answered %d %s", name, a.status, a.raw)
		}
		if c.status == 413 {
			// "The request body is larger than the limit of 105906176 bytes" was hard to know again as 100 MiB.
			if a.want(413, "payload_too_large"); !strings.Contains(a.text("message"), "100 MiB (104857600 bytes).") {
				t.Errorf("%s: the message is %q", name, a.text("message"))
			}
		} else if size != limit || sum != "20492a4d0d84f8beb1767f6616229f85d44c2827b64bdbfb260ee12fa1109e0e" { // head -c 100M /dev/zero | sha256sum
			t.Errorf("%s: the detector read %d bytes with the sum %s", name, size, sum)
		}
		if grew > 4<<20 {
			t.Errorf("%s: %d bytes were allocated", name, grew)
		}
	}
}

func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// An answer that comes early reaches a client that sends everything before it
// reads anything.
func TestEarlyAnswersReachTheClient(t *testing.T) {
	t.Parallel()
	const length = 101<<20 + 100
	for name, c := range map[string]struct {
		key    func(*service) string
		status int
		code   string
	}{
		"413": {func(s *service) string { return s.key("pro") }, 413, "payload_too_large"},
		"401": {func(*service) string { return "dfk_none" }, 401, "unauthorized"},
		"402": {func(s *service) string { k := s.key("pro"); s.use(k, 1); return k }, 402, "quota_exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t, config{plans: tight(1)})
			u := s.dial(nil)
			u.send(head(c.key(s), "multipart/form-data; boundary=x", length, ""))
			_, err := io.Copy(u.conn, io.LimitReader(zeroReader{}, length))
			must(t, err)
			a := u.answer()
			a.want(c.status, c.code)
			if !a.closes {
				t.Error("the connection is not said to be closed")
			}
			u.ended()

			// And a client that listens while it sends.
			contentType, body, _ := stream(t, length)
			s.do(request{method: "POST", path: "/v1/detect", key: c.key(s), contentType: contentType, body: body, length: -1})
		})
	}
}

// A client that had its answer, or would never read it, kept its connection for half a minute: whether it sent nothing
// more, or went on with a body of which more was left than is read on.
func TestLingeringEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		length int
		sends  bool
	}{
		"nothing more comes": {2 << 20, false},
		"too much is left":   {1 << 30, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t, config{api: func(o *api.Options) {
				o.Pace.LingerTime, o.Pace.LingerIdle, o.Pace.LingerBytes = time.Hour, 50*time.Millisecond, 4<<20
			}})
			u := s.dial(nil)
			u.send(head(s.key("pro"), "multipart/form-data; boundary=x", c.length, ""))
			u.answer().want(413, "payload_too_large")
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for deadline := time.Now().Add(2 * time.Minute); c.sends; <-tick.C {
				if _, err := u.conn.Write([]byte{0}); err != nil {
					return
				}
				if time.Now().After(deadline) {
					t.Fatal("the connection stays open")
				}
			}
			u.ended()
		})
	}
}

// A client that leaves while a refused upload is read on has its connection's
// deadline passed, and nobody else's: gin's writers are pooled, so by the time
// the deadline was set the writer could be another request's, whose upload then
// failed out of nowhere. The race detector sees it without the bad luck.
func TestALeavingClientCutsNobodyElseOff(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	key := s.key("pro")
	for range 20 {
		u := s.dial(nil)
		u.send(head("dfk_none", "multipart/form-data; boundary=x", 1<<20, ""))
		u.answer().want(401, "unauthorized")
		must(t, u.conn.Close())
		s.do(request{method: "GET", path: "/v1/usage", key: key}).ok(200)
	}
}

// A client that asks for leave to send gets its refusal instead, and leave only
// when its body is wanted.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	const expect = "Expect: 100-continue\r\n"
	s := setup(t, config{})
	key := s.key("pro")
	for _, c := range []struct {
		key    string
		length int
		status int
		code   string
	}{
		{key, 101 << 20, 413, "payload_too_large"},
		{"dfk_none", 100, 401, "unauthorized"},
	} {
		u := s.dial(nil)
		u.send(head(c.key, "multipart/form-data; boundary=x", c.length, expect))
		a := u.answer()
		a.want(c.status, c.code)
		u.ended()
	}
	contentType, body := form(t, photo())
	u := s.dial(body)
	u.send(head(key, contentType, len(body), expect))
	line, err := u.in.ReadString('\n')
	must(t, err)
	if !strings.Contains(line, "100 Continue") {
		t.Fatalf("a wanted body was answered %q", line)
	}
	_, err = u.in.ReadString('\n')
	must(t, err)
	u.rest().ok(200)
}

// Nobody has to wait for leave to send: Go's own client doesn't, by a transport that is not the default
// one. The connection was reset under whoever didn't, before they could read why.
func TestExpectContinueWithoutWaiting(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	const length = 8 << 20
	for range 5 {
		u := s.dial(nil)
		u.send(head("dfk_none", "multipart/form-data; boundary=x", length, "Expect: 100-continue\r\n"))
		u.send(strings.Repeat("x", length))
		u.answer().want(401, "unauthorized")
	}
}

// A small body that was not read doesn't cost the connection.
func TestConnectionOutlivesSmallRefusals(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	key := s.key("pro")
	contentType, body := form(t, photo())
	u := s.dial(nil)
	for i, key := range []string{"dfk_none", key, "dfk_none", key} {
		u.send(head(key, contentType, len(body), "") + string(body))
		if a := u.answer(); a.status != []int{401, 200}[i%2] || a.closes {
			t.Fatalf("request %d: %d, connection closed: %v", i, a.status, a.closes)
		}
	}
}

// While a file is analysed it has no name, and it is gone before the answer.
func TestTemporaryFiles(t *testing.T) {
	t.Parallel()
	var s *service
	look := func(ctx context.Context, r inference.Request) (inference.Result, error) {
		if files, size := s.spool.Usage(); files != 1 || size != 1000 {
			t.Errorf("%d files with %d bytes are spooled", files, size)
		}
		if entries, err := os.ReadDir(s.spoolDir); err != nil || len(entries) != 0 {
			t.Errorf("the spool folder holds %v, %v", entries, err)
		}
		return fake(ctx, r)
	}
	s = setup(t, config{detect: look})
	s.detect(s.key("pro"), zeros(1000)).ok(200)
	if files, _ := s.spool.Usage(); files != 0 {
		t.Errorf("%d files are left after the answer", files)
	}
}

// Decisions: service saturated. Uploads of jobs that wait leave a quarter of the spool to
// files that somebody waits for.
func TestSpoolUsedUpByJobs(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	s := setup(t, config{capacity: 5000, detect: func(ctx context.Context, r inference.Request) (inference.Result, error) {
		if r.Priority == inference.Background {
			<-hold
		}
		return fake(ctx, r)
	}})
	key := s.key("pro")
	s.detect(key, zeros(2000), async()).ok(202)
	a := s.detect(key, zeros(2000), async())
	a.want(429, "rate_limited")
	if !strings.Contains(a.text("message"), "room for") {
		t.Errorf("answered %s", a.raw)
	}
	s.detect(key, zeros(2000)).ok(200)
	close(hold)
	s.jobsDone()
	s.detect(key, zeros(2000), async()).ok(202)
}

// Decisions: service saturated. Uploads beyond the capacity of the spool were
// answered 500, as if its disk were full, with no word of when to come back.
func TestSpoolUsedUp(t *testing.T) {
	t.Parallel()
	s := setup(t, config{capacity: 5000, plans: tight(1), api: func(o *api.Options) { o.UploadRetry = 9 * time.Second }})
	key := s.key("pro")
	a := s.detect(key, zeros(5001))
	a.want(429, "rate_limited")
	if a.body["retry_after"] != 9.0 || !strings.Contains(a.text("message"), "room for") {
		t.Errorf("answered %s", a.raw)
	}
	// A file for which there was no room ended the reading, so that async was seen in
	// front of it and not behind.
	s.detect(s.key("free"), async(), zeros(5001)).want(402, "async_not_allowed")
	s.detect(s.key("free"), zeros(5001), async()).want(402, "async_not_allowed")
	s.detect(key, zeros(5000)).ok(200)
	must(t, s.stop())
	if failures := s.logs.at("ERROR"); failures != "" {
		t.Errorf("it is logged as a failure of the service: %s", failures)
	}
}
