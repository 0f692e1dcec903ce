//go:build gocv_specific_modules

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// benchServer is the service, in a process of its own as always: this one has
// sessions of its own, to compare with, and ONNX Runtime is there once in a
// process.
type benchServer struct {
	address string
	key     string
	conn    net.Conn // kept between requests
	answers *bufio.Reader
}

// bothSides are the sessions and threads of the service and of what is bare, which
// measure for themselves otherwise and may come to different ends.
func bothSides() (sessions, threads int) {
	cores := runtime.GOMAXPROCS(0)
	sessions = max(1, cores/4)
	return sessions, cores / sessions
}

// startServer starts the service on a free port. It ends with the benchmark.
func startServer(b *testing.B) *benchServer {
	b.Helper()
	data := b.TempDir()
	config := filepath.Join(data, "config.yaml")
	plans := "plans: {pro: {requests_per_minute: 1000000000, scans: 1000000000}}\n"
	if err := os.WriteFile(config, []byte(plans), 0o600); err != nil {
		b.Fatal(err)
	}
	var key bytes.Buffer
	if code := run(b.Context(), []string{"keys", "create", "--data", data, "--account", "bench", "--plan", "pro"}, &key, os.Stderr); code != 0 {
		b.Fatalf("keys create: exit %d", code)
	}
	s := &benchServer{key: strings.TrimSpace(key.String())}
	sessions, threads := bothSides()
	cmd := exec.CommandContext(b.Context(), os.Args[0], "serve", "--provider", "cpu",
		"--sessions", strconv.Itoa(sessions), "--threads", strconv.Itoa(threads),
		"--listen", "127.0.0.1:0", "--data", data, "--config", config)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	log, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	s.address = awaitReady(b, lines)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for lines.Scan() { // a full pipe would stop the service
			if line := lines.Text(); !strings.Contains(line, `"level":"INFO"`) {
				b.Log(line)
			}
		}
	}()
	b.Cleanup(func() {
		<-drained // the benchmark's context has ended, and the service with it
		_ = cmd.Wait()
	})
	s.dial(b)
	return s
}

// awaitReady reads the log until the service is ready, and returns its address.
func awaitReady(b *testing.B, lines *bufio.Scanner) string {
	b.Helper()
	address := ""
	for lines.Scan() {
		var line struct {
			Message string `json:"msg"`
			Address string `json:"address"`
		}
		_ = json.Unmarshal(lines.Bytes(), &line)
		switch line.Message {
		case "listening":
			address = line.Address
		case "ready":
			return address
		case "not ready":
			b.Fatal(lines.Text())
		}
	}
	b.Fatal("the service ended before it was ready")
	return ""
}

func (s *benchServer) dial(b *testing.B) {
	b.Helper()
	conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", s.address)
	if err != nil {
		b.Fatal(err)
	}
	s.conn, s.answers = conn, bufio.NewReader(conn)
	b.Cleanup(func() { _ = conn.Close() })
}

// verdict uploads a file and returns the time from its last byte to the last of
// the answer. The service has taken in all the others before.
func (s *benchServer) verdict(b *testing.B, path string) time.Duration {
	b.Helper()
	request := s.request(b, path)
	last := len(request) - 1
	if _, err := s.conn.Write(request[:last]); err != nil {
		b.Fatal(err)
	}
	for s.unread(b) > 0 { // the kernel holds it, as a network would
		s.usage(b)
	}
	s.usage(b)
	start := time.Now()
	if _, err := s.conn.Write(request[last:]); err != nil {
		b.Fatal(err)
	}
	answer, err := http.ReadResponse(s.answers, nil)
	if err != nil {
		b.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	took := time.Since(start)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK {
		b.Fatalf("%s: %s %s %v", path, answer.Status, text, err)
	}
	return took
}

// unread is how many bytes the service has received from us and not read.
func (s *benchServer) unread(b *testing.B) int64 {
	b.Helper()
	ours, theirs := s.conn.LocalAddr().(*net.TCPAddr), s.conn.RemoteAddr().(*net.TCPAddr)
	local, remote := fmt.Sprintf(":%04X", theirs.Port), fmt.Sprintf(":%04X", ours.Port)
	sockets, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(sockets)) { // see proc_pid_net(5)
		fields := strings.Fields(line)
		if len(fields) < 5 || !strings.HasSuffix(fields[1], local) || !strings.HasSuffix(fields[2], remote) {
			continue
		}
		_, unread, _ := strings.Cut(fields[4], ":")
		n, err := strconv.ParseInt(unread, 16, 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	b.Fatal("our connection to the service is gone")
	return 0
}

// usage is a round trip on another connection.
func (s *benchServer) usage(b *testing.B) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+s.address+"/v1/usage", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
}

// request is the whole upload as it goes over the wire.
func (s *benchServer) request(b *testing.B, path string) []byte {
	b.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	var body, out bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", filepath.Base(path))
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	fmt.Fprintf(&out, "POST /v1/detect HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
		s.address, s.key, form.FormDataContentType(), body.Len())
	out.Write(body.Bytes())
	return out.Bytes()
}
