//go:build gocv_specific_modules

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Tests that judge something are not parallel to each other, only within: there
// is one ONNX Runtime in a process.

// patience is how long anything may take before a test gives up.
const patience = 2 * time.Minute

// logs is what the service writes, and lets tests wait for a line.
type logs struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

// Write implements io.Writer.
func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
	return l.text.Write(p)
}

// read returns what has been written, and what is closed when there is more.
func (l *logs) read() (string, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String(), l.changed
}

// await returns the first line that holds the text, once there is one.
func (l *logs) await(t testing.TB, part string) map[string]any {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		text, more := l.read()
		for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
			var line map[string]any
			if strings.Contains(lines.Text(), part) && json.Unmarshal(lines.Bytes(), &line) == nil {
				return line
			}
		}
		select {
		case <-more:
		case <-limit.C:
			t.Fatalf("no line says %s:\n%s", part, text)
		}
	}
}

// instance is the real program, serving.
type instance struct {
	data, url string
	logs      *logs
	client    *http.Client
	wait      func() int // until it has ended; returns the exit code
	stop      func() int // ends it and waits
}

// serve starts the program with a configuration file and flags, and returns
// when it listens. It is stopped with the test, and must have cleaned up.
func serve(t testing.TB, config string, flags ...string) *instance {
	t.Helper()
	s := &instance{data: t.TempDir(), logs: &logs{changed: make(chan struct{})}}
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}, Timeout: patience}
	args := []string{"serve", "--listen", "127.0.0.1:0", "--data", s.data, "--provider", "cpu",
		"--sessions", "2", // to measure what is best takes two seconds of each start
		"--config", write(t, "deepfaked.yaml", []byte(config))}
	ctx, cancel := context.WithCancel(context.Background())
	code := make(chan int, 1)
	var out bytes.Buffer
	go func() { code <- run(ctx, append(args, flags...), &out, s.logs) }()
	s.wait = sync.OnceValue(func() int { return <-code })
	s.stop = func() int {
		s.client.CloseIdleConnections()
		cancel()
		return s.wait()
	}
	t.Cleanup(func() {
		assert.Zero(t, s.stop())
		assert.Empty(t, out.String(), "the log goes to standard error")
		left, err := os.ReadDir(filepath.Join(s.data, "spool"))
		assert.NoError(t, err)
		assert.Empty(t, left, "uploads are left")
		if t.Failed() {
			text, _ := s.logs.read()
			t.Log(text)
		}
	})
	address, _ := s.logs.await(t, `"msg":"listening"`)["address"].(string)
	text, _ := s.logs.read()
	require.Contains(t, strings.SplitN(text, "\n", 2)[0], address, "the address is in the first line")
	s.url = "http://" + address
	return s
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	raw    string
	body   map[string]any
}

// do sends a request; key may be empty.
func (s *instance) do(t testing.TB, method, path, key, contentType string, body io.Reader) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
	require.NoError(t, err)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	a, err := s.send(r)
	require.NoError(t, err)
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		assert.Regexp(t, `^\d+$`, a.header.Get(name), "%s of %s %s", name, method, path)
	}
	return a
}

// send sends a request and reads the answer to its end.
func (s *instance) send(r *http.Request) (answer, error) {
	resp, err := s.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	a := answer{status: resp.StatusCode, header: resp.Header, raw: string(raw)}
	if err == nil && strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		err = json.Unmarshal(raw, &a.body)
	}
	return a, err
}

func (s *instance) get(t testing.TB, key, path string) answer {
	t.Helper()
	return s.do(t, http.MethodGet, path, key, "", nil)
}

// detect submits a file; fields are names and values in turn.
func (s *instance) detect(t testing.TB, key string, file []byte, fields ...string) answer {
	t.Helper()
	body, contentType := form(t, file, fields...)
	return s.do(t, http.MethodPost, "/v1/detect", key, contentType, body)
}

// want checks an error of the contract and returns its sentence.
func (a answer) want(t testing.TB, status int, code string) string {
	t.Helper()
	require.Equal(t, status, a.status, a.raw)
	require.Equal(t, code, a.body["error"], a.raw)
	message, _ := a.body["message"].(string)
	require.Regexp(t, `^[A-Z].*\.$`, message, "a sentence")
	keys := 2
	if status == http.StatusTooManyRequests {
		keys = 3
	}
	assert.Len(t, a.body, keys, a.raw)
	return message
}
