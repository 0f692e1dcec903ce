package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// refuse answers every request with a 429 before it has read the body.
func refuse(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	if _, err := http.ReadRequest(r); err != nil {
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n")
	_, _ = io.Copy(io.Discard, r)
}

// slow is a file of 500 kB of which each Read but the first waits.
type slow struct {
	wait  func()
	reads int
}

func (s *slow) Len() int { return 500_000 }

func (s *slow) Read(p []byte) (int, error) {
	if s.reads++; s.reads > 1 {
		s.wait()
	}
	return len(p), nil
}

// TestReaderIsGivenBack: when the service answered before the upload was finished,
// Detect returned while the transport was in r.Read, and would read again: a caller
// who sought back to try again shared r with the goroutine of the first request.
func TestReaderIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		read, returns time.Duration // how long a Read takes, and Detect
	}{
		"a slow Read": {read: time.Second, returns: time.Second},
		"a stuck one": {read: time.Hour, returns: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				file := &slow{wait: func() { <-time.After(c.read) }}
				start, err := time.Now(), detectRefused(t, file)
				var refused *Error
				if took := time.Since(start); !errors.As(err, &refused) || took != c.returns {
					t.Errorf("after %v Detect said %v", took, err)
				}
				<-time.After(2 * time.Hour)
				if file.reads != 2 {
					t.Errorf("the file was read %d times", file.reads)
				}
			})
		})
	}
}

// detectRefused calls Detect, for a minute at most, of a service that refuses.
func detectRefused(t *testing.T, r io.Reader) error {
	t.Helper()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go refuse(there)
		return here, nil
	}}
	client, err := New(Options{BaseURL: "http://service.test", Key: "k", HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = client.Detect(ctx, "x.wav", r, DetectOptions{})
	return err
}
