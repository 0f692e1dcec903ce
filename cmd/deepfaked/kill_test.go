//go:build gocv_specific_modules

package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// spawn starts the program in a process of its own, which can be killed, and
// returns once it is ready. end sends it a signal and waits.
func spawn(t *testing.T, data string, flags ...string) (s *instance, end func(unix.Signal) int) {
	t.Helper()
	return spawnIn(t, nil, data, flags...)
}

// spawnIn is spawn with further variables of the environment.
func spawnIn(t *testing.T, environment []string, data string, flags ...string) (s *instance, end func(unix.Signal) int) {
	t.Helper()
	s, end = launch(t, environment, data, append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
	s.url = "http://" + s.logs.await(t, `"msg":"listening"`)["address"].(string)
	return s, end
}

// launch is spawnIn for any command that judges; the instance has no address.
func launch(t *testing.T, environment []string, data string, args ...string) (s *instance, end func(unix.Signal) int) {
	t.Helper()
	s = &instance{data: data, logs: &logs{changed: make(chan struct{})}, client: &http.Client{Timeout: patience}}
	args = slices.Concat(args[:1], []string{"--data", data, "--provider", "cpu", "--sessions", "2", "--config", write(t, "deepfaked.yaml", []byte(unhurried))}, args[1:])
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], args...)
	cmd.Stderr, cmd.Env = s.logs, append(os.Environ(), environment...)
	require.NoError(t, cmd.Start())
	ended := false
	end = func(signal unix.Signal) int {
		if ended {
			return 0
		}
		ended = true
		s.client.CloseIdleConnections()
		assert.NoError(t, cmd.Process.Signal(signal))
		_ = cmd.Wait() // its exit code says it
		return cmd.ProcessState.ExitCode()
	}
	t.Cleanup(func() {
		end(unix.SIGKILL)
		if t.Failed() {
			text, _ := s.logs.read()
			t.Log(text)
		}
	})
	s.logs.await(t, ready)
	return s, end
}

// unhurried lets finished ask as often as it likes.
const unhurried = "plans: {pro: {requests_per_minute: 100000}}"

// finished polls a job until it has ended, of a service that is unhurried.
func (s *instance) finished(t *testing.T, key, id string) map[string]any {
	t.Helper()
	var body map[string]any
	require.Eventually(t, func() bool {
		body = s.get(t, key, "/v1/results/"+id).body
		return body["status"] != "processing"
	}, patience, 50*time.Millisecond, "%s is not finished", id)
	return body
}

// A job survives whatever ends its process, is finished once and counted once. It
// was kept in memory before, and its client was told to submit the file again.
func TestJobsSurvive(t *testing.T) {
	t.Parallel()
	data, film := t.TempDir(), longFilm(t)
	var ids []string
	accept := func(s *instance, key string, n int) {
		for range n {
			a := s.detect(t, key, film, "async", "true")
			require.Equal(t, 202, a.status, a.raw)
			ids = append(ids, a.id())
		}
	}
	key := newKey(t, data, "patient", "pro")
	s, end := spawn(t, data, "--drain", "0s")
	accept(s, key, 3)
	assert.Zero(t, end(unix.SIGTERM), "exit code")
	s, end = spawn(t, data)
	accept(s, key, 2)
	end(unix.SIGKILL)
	s, end = spawn(t, data)
	for _, id := range ids {
		assert.Equal(t, "complete", s.finished(t, key, id)["status"])
	}
	assert.InDelta(t, len(ids), s.usage(t, key), 0)
	last := unix.SIGHUP // the end of a terminal ended it without a word, in the midst of what it was judging
	if signal.Ignored(last) {
		last = unix.SIGTERM // as in tests without a terminal (nohup), whose children are not to care
	}
	assert.Zero(t, end(last), "exit code")
	left, err := filepath.Glob(filepath.Join(data, "jobs", "det_*"))
	require.NoError(t, err)
	assert.Empty(t, left, "uploads of jobs that have ended")
}

// Where who read the log had ended, the next line of it ended the service, in the midst of what
// it was judging.
func TestALogThatNobodyReads(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "serve", "--data", t.TempDir(), "--provider", "cpu", "--listen", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var line struct{ Address string }
	require.NoError(t, json.NewDecoder(stderr).Decode(&line))
	require.NoError(t, stderr.Close())
	for range 3 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+line.Address+"/v1/usage", nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		if assert.NoError(t, err) {
			assert.Equal(t, http.StatusUnauthorized, answer.StatusCode)
			assert.NoError(t, answer.Body.Close())
		}
	}
	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	_ = cmd.Wait() // its exit code says it
	assert.Zero(t, cmd.ProcessState.ExitCode())
}

// Where who read the log was there and read no more, the pipe was full after a while, and a service that
// was told to stop waited for it until somebody killed it, with its jobs not given back.
func TestALogThatIsReadNoMore(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	read, written, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = read.Close(), written.Close() }()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "serve", "--data", data, "--provider", "cpu", "--listen", "127.0.0.1:0", "--drain", "0s")
	cmd.Stderr = written
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	var line struct{ Address, Msg string }
	for lines := json.NewDecoder(read); line.Msg != "ready"; {
		require.NoError(t, lines.Decode(&line))
	}
	fill(t, int(written.Fd()))
	books := (&instance{data: data}).books(t)
	processes := func() (n int) {
		require.NoError(t, books.QueryRowContext(t.Context(), "SELECT count(*) FROM processes").Scan(&n))
		return n
	}
	require.Equal(t, 1, processes())
	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("it waits for whoever reads the log")
	}
	assert.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
	assert.Zero(t, processes(), "it has left in order, but for the log")
}

// fill writes to a pipe until it takes no more.
func fill(t *testing.T, pipe int) {
	t.Helper()
	require.NoError(t, unix.SetNonblock(pipe, true))
	for err := error(nil); !errors.Is(err, unix.EAGAIN); _, err = unix.Write(pipe, []byte{'\n'}) {
		require.NoError(t, err)
	}
	require.NoError(t, unix.SetNonblock(pipe, false))
}
