//go:build gocv_specific_modules

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// longFilm takes a second or more to judge.
func longFilm(t testing.TB) []byte {
	t.Helper()
	return ffmpeg(t, "x.mp4", "-f lavfi -i mandelbrot=s=1280x720:r=8 -t 2 -c:v libx264 -preset ultrafast -pix_fmt yuv420p")
}

// testKeys: a key that is revoked while the service runs is refused at once;
// the account's other key goes on, with the same quota.
func (s *instance) testKeys(t *testing.T) {
	first, second := newKey(t, s.data, "pair", "starter"), newKey(t, s.data, "pair", "starter")
	s.detect(t, first, somePicture(t)).judged(t)
	assert.InDelta(t, 1, s.usage(t, second), 0)
	call(t, "keys", "revoke", "--data", s.data, first).ok(t)
	s.get(t, first, "/v1/usage").want(t, 401, "unauthorized")
	s.detect(t, second, somePicture(t)).judged(t)
	assert.InDelta(t, 2, s.usage(t, second), 0)
	call(t, "keys", "revoke", "--data", s.data, idOf(second)).ok(t)
	s.get(t, second, "/v1/usage").want(t, 401, "unauthorized")
}

// ready is the line that the service writes when it can judge.
const ready = `"msg":"ready"`

// begin submits a file and returns at once; the answer follows, or what went
// wrong in its raw text.
func (s *instance) begin(ctx context.Context, t testing.TB, key string, file []byte) <-chan answer {
	t.Helper()
	body, contentType := form(t, file)
	return s.post(ctx, t, key, contentType, body)
}

// post is begin for a body of one's own.
func (s *instance) post(ctx context.Context, t testing.TB, key, contentType string, body io.Reader) <-chan answer {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/detect", body)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", contentType)
	done := make(chan answer, 1)
	go func() {
		a, err := s.send(r)
		if err != nil {
			a.raw = err.Error()
		}
		done <- a
	}()
	return done
}

// working waits until a decoder child holds an upload, of a request or of a job, and
// returns its process.
func (s *instance) working(t testing.TB) (pid int) {
	t.Helper()
	return decoding(t, filepath.Join(s.data, "spool")+"/", "/memfd:upload-", filepath.Join(s.data, "jobs")+"/")
}

// decoding waits until a decoder child holds a file whose path begins like one of
// these, and returns its process. Decoders hide what they hold: only root, with its
// capabilities, sees that.
func decoding(t testing.TB, paths ...string) (pid int) {
	t.Helper()
	hidden := false
	const often = 10 * time.Millisecond // while a film is decoded for half a second; each look costs the service's own processor
	require.Eventually(t, func() bool {
		for _, pid = range childProcesses(t) {
			command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if !strings.HasSuffix(string(command), "\x00decode\x00") {
				continue // about to become one: until then it holds what its parent holds
			}
			held, err := holds(pid)
			if hidden = errors.Is(err, fs.ErrPermission); hidden || slices.ContainsFunc(held, func(to string) bool {
				return slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(to, p) })
			}) {
				return true
			}
		}
		return false
	}, patience, often, "no decoder has taken the file up")
	if hidden {
		t.Skip("what a decoder holds is hidden from its user: run this test as root with CAP_SYS_PTRACE")
	}
	return pid
}

// holds lists what a process has open.
func holds(pid int) (paths []string, err error) {
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		to, unread := os.Readlink(filepath.Join(folder, e.Name()))
		if errors.Is(unread, fs.ErrPermission) {
			return nil, unread
		}
		paths = append(paths, to)
	}
	return paths, err
}

// childProcesses are the processes that this one has started.
func childProcesses(t testing.TB) []int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	var pids []int
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread may have ended
		for field := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(field)
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

// testClientGone: a client that hangs up in the middle is not charged, and what
// it had reserved is given back.
func (s *instance) testClientGone(t *testing.T) {
	key := newKey(t, s.data, "gone", "starter") // two scans
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	done := s.begin(ctx, t, key, longFilm(t))
	s.working(t)
	hangUp()
	assert.Contains(t, (<-done).raw, "canceled")
	s.logs.await(t, `"gone":true`)
	assert.Zero(t, s.usage(t, key))
	s.detect(t, key, somePicture(t)).judged(t)
	s.detect(t, key, somePicture(t)).judged(t)
	s.detect(t, key, somePicture(t)).want(t, 402, "quota_exceeded")
}

// testKilledDecoder: the death of a child costs nobody anything; a file that two
// die of is refused, and no other. Two that somebody killed, as the kernel does when
// memory runs out, were taken for such: that is the service's failure, and a job of the
// file is tried again.
func (s *instance) testKilledDecoder(t *testing.T) {
	key := newKey(t, s.data, "killed", "pro")
	film := longFilm(t)
	done := s.begin(t.Context(), t, key, film)
	require.NoError(t, unix.Kill(s.working(t), unix.SIGKILL))
	(<-done).judged(t)
	done = s.begin(t.Context(), t, key, film)
	s.endTwo(t, unix.SIGABRT)
	message := (<-done).want(t, 415, "unsupported_media_type")
	assert.Contains(t, message, "could not be decoded safely")
	done = s.begin(t.Context(), t, key, film)
	s.endTwo(t, unix.SIGKILL)
	(<-done).want(t, 500, "internal_error")
	s.logs.await(t, "its container has probably run out of it")
	assert.InDelta(t, 1, s.usage(t, key), 0)
	a := s.detect(t, key, film, "async", "true")
	require.Equal(t, 202, a.status, a.raw)
	s.endTwo(t, unix.SIGKILL)
	s.logs.await(t, `"msg":"job is tried again"`)
	assert.Equal(t, "complete", s.finished(t, key, a.id())["status"])
	for _, file := range [][]byte{film, somePicture(t), hum(5)} {
		s.detect(t, key, file).judged(t)
	}
	assert.InDelta(t, 5, s.usage(t, key), 0)
}

// endTwo sends the signal to the decoder that is at work, and to the one that takes its
// place.
func (s *instance) endTwo(t *testing.T, signal unix.Signal) {
	t.Helper()
	first := s.working(t)
	require.NoError(t, unix.Kill(first, signal))
	second := s.working(t)
	for second == first { // it takes a moment to die
		second = s.working(t)
	}
	require.NoError(t, unix.Kill(second, signal))
}

// testDefaultLimits: without a configuration the plans are the contract's.
func (s *instance) testDefaultLimits(t *testing.T) {
	key := newKey(t, s.data, "default", "free")
	u := s.get(t, key, "/v1/usage").body
	assert.Equal(t, []any{"free", 200.0, 200.0}, []any{u["plan"], u["scans_limit"], u["scans_remaining"]})
	for range 4 {
		s.get(t, key, "/v1/usage").fields(t, 200, "plan", "scans_used", "scans_limit", "scans_remaining", "period_start")
	}
	late := s.detect(t, key, somePicture(t))
	message := late.want(t, 429, "rate_limited")
	seconds := fmt.Sprint(late.body["retry_after"])
	assert.Equal(t, seconds, late.header.Get("Retry-After"))
	assert.Contains(t, message, seconds+" second")
	assert.Equal(t, []string{"5", "0", seconds}, []string{
		late.header.Get("X-RateLimit-Limit"), late.header.Get("X-RateLimit-Remaining"), late.header.Get("X-RateLimit-Reset"),
	})
}

// TestStopAndKeep: told to stop during an analysis, the service lets it come to
// its end; and with --keep-uploads what was analysed is there afterwards, byte
// for byte.
func TestStopAndKeep(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	s := serve(t, "", "--keep-uploads")
	s.logs.await(t, ready)
	t.Run("default limits", s.testDefaultLimits)
	key, film := newKey(t, s.data, "last", "pro"), longFilm(t)
	done := s.begin(t.Context(), t, key, film)
	s.working(t)
	call(t, "serve", "--listen", "127.0.0.1:0", "--data", s.data).refused(t, exitFailed, s.data, "another deepfaked", "--data")
	address := strings.TrimPrefix(s.url, "http://")
	call(t, "serve", "--listen", address, "--data", t.TempDir()).refused(t, exitFailed, address, "already in use")
	require.NoError(t, unix.Kill(os.Getpid(), unix.SIGTERM)) // the service runs in this process and catches it
	assert.Zero(t, s.wait())
	got := (<-done).judged(t)
	kept, err := os.ReadFile(filepath.Join(s.data, "uploads", got.id()))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(film, kept), "the upload is kept as it came")
	s.logs.await(t, `"msg":"stopped"`)
}

// TestNotReady: a service that can't judge says so, and stays to be asked. It told clients for
// ever to retry in a moment, where only another start would help; and of a models folder that
// is not there it did not say which flag names it.
func TestNotReady(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	broken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(broken, "card.json"), []byte(`{"schema": 1, "name": "Bad Name"}`), 0o600))
	for name, test := range map[string]struct {
		flags []string
		words string
	}{
		"broken card":          {[]string{"--models", broken}, "name"},
		"no such models":       {[]string{"--models", "/nonexistent"}, "/nonexistent: no such file or directory: name another with --models"},
		"no ONNX Runtime":      {[]string{"--onnxruntime", "/nonexistent.so"}, "/nonexistent.so"},
		"no library, but text": {[]string{"--onnxruntime", write(t, "lib.so", []byte("text"))}, "lib.so"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, "", test.flags...)
			line := s.logs.await(t, `"msg":"not ready"`)
			assert.Contains(t, line["error"], test.words)
			assert.Contains(t, s.get(t, "", "/readyz").want(t, 503, "not_ready"), "could not be started; the log of the service says why")
			assert.Equal(t, "ok", s.get(t, "", "/healthz").body["status"])
			key := newKey(t, s.data, "early", "pro")
			message := s.detect(t, key, somePicture(t)).want(t, 503, "internal_error")
			assert.Equal(t, "The service is not ready, as it could not be started; the log of the service says why.", message)
			assert.Zero(t, s.usage(t, key))
		})
	}
}
