package sharedlimit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"deepfaked/internal/account"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limiter is what both of them are.
type limiter interface {
	Allow(key string, limit int) account.Decision
}

// long is a window that outlasts a test.
const long = 10 * time.Minute

func local(t *testing.T, window time.Duration) *account.Limiter {
	t.Helper()
	opts := account.DefaultLimiterOptions()
	opts.Window = window
	l, err := account.NewLimiter(opts)
	require.NoError(t, err)
	return l
}

// server is a real Redis on a socket of its own.
type server struct {
	t    *testing.T
	dir  string
	stop func()
}

func startRedis(t *testing.T, dir string) *server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not there: run scripts/setup --tests")
	}
	s := &server{t: t, dir: dir}
	cmd := exec.CommandContext(t.Context(), "redis-server", "--port", "0", "--unixsocket", s.socket(), "--save", "", "--dir", dir, "--daemonize", "no")
	require.NoError(t, cmd.Start())
	s.stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(s.stop)
	client := s.client()
	require.Eventually(t, func() bool { return client.Ping(t.Context()).Err() == nil }, 2*time.Minute, 5*time.Millisecond, "Redis does not start")
	return s
}

// socket is short: its length is limited.
func (s *server) socket() string { return filepath.Join(s.dir, "r") }

func (s *server) client() *redis.Client {
	c, err := Connect("unix://"+s.socket(), slog.New(slog.DiscardHandler))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *server) limiter(log *bytes.Buffer, window time.Duration) *Limiter {
	s.t.Helper()
	opts := DefaultOptions()
	opts.Redis, opts.Local, opts.Window = s.client(), local(s.t, window), window
	opts.Timeout, opts.Pause = time.Minute, 20*time.Millisecond
	opts.Logger = slog.New(slog.DiscardHandler)
	if log != nil {
		opts.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	l, err := New(opts)
	require.NoError(s.t, err)
	return l
}

// Both limiters give the same answers.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]func(*testing.T, time.Duration) limiter{
		"in memory": func(t *testing.T, window time.Duration) limiter { t.Helper(); return local(t, window) },
		"in Redis": func(t *testing.T, window time.Duration) limiter {
			t.Helper()
			return startRedis(t, t.TempDir()).limiter(nil, window)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := one(t, long)
			t.Run("keys are independent", func(t *testing.T) { t.Parallel(); keysAreIndependent(t, l) })
			t.Run("the plan changes", func(t *testing.T) { t.Parallel(); planChanges(t, l) })
			t.Run("in parallel", func(t *testing.T) { t.Parallel(); inParallel(t, l) })
		})
	}
}

func TestAWindowInMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		countsInAWindow(t, local(t, long), func(rest time.Duration) { <-time.After(rest) })
	})
}

func TestAWindowInRedis(t *testing.T) {
	t.Parallel()
	s := startRedis(t, t.TempDir())
	countsInAWindow(t, s.limiter(nil, long), func(time.Duration) {
		const key = "deepfaked:{rate}:a"
		require.NoError(t, s.client().PExpire(t.Context(), key, 50*time.Millisecond).Err())
		require.Eventually(t, func() bool {
			return s.client().Exists(t.Context(), key).Val() == 0
		}, 2*time.Minute, 10*time.Millisecond)
	})
}

// countsInAWindow has pass let the rest of the window pass.
func countsInAWindow(t *testing.T, l limiter, pass func(rest time.Duration)) {
	t.Helper()
	for left := 2; left >= 0; left-- {
		d := l.Allow("a", 3)
		assert.Equal(t, []any{true, 3, left}, []any{d.Allowed, d.Limit, d.Remaining})
		assert.Positive(t, d.Reset)
		assert.LessOrEqual(t, d.Reset, long)
	}
	refused := l.Allow("a", 3)
	assert.Equal(t, []any{false, 3, 0}, []any{refused.Allowed, refused.Limit, refused.Remaining})
	again := l.Allow("a", 3)
	assert.LessOrEqual(t, again.Reset, refused.Reset, "one that is refused does not prolong the window")
	pass(again.Reset)
	d := l.Allow("a", 3)
	assert.Equal(t, []any{true, 3, 2}, []any{d.Allowed, d.Limit, d.Remaining}, "a new window")
	assert.Greater(t, d.Reset, long/2)
}

func keysAreIndependent(t *testing.T, l limiter) {
	t.Helper()
	for i := range 50 {
		assert.True(t, l.Allow(fmt.Sprint("key", i), 1).Allowed)
	}
}

func planChanges(t *testing.T, l limiter) {
	t.Helper()
	for range 5 {
		l.Allow("b", 5)
	}
	assert.Equal(t, 14, l.Allow("b", 20).Remaining)
	d := l.Allow("b", 5)
	assert.Equal(t, []any{false, 5, 0}, []any{d.Allowed, d.Limit, d.Remaining})
}

func inParallel(t *testing.T, l limiter) {
	t.Helper()
	var allowed atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 25 {
				if l.Allow("c", 60).Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, 60, allowed.Load())
}

// Several processes share one allowance, and what has another prefix does not.
func TestProcessesShare(t *testing.T) {
	t.Parallel()
	s := startRedis(t, t.TempDir())
	a, b, other := s.limiter(nil, long), s.limiter(nil, long), s.limiter(nil, long)
	other.opts.Prefix = "other:"
	assert.Equal(t, 1, a.Allow("k", 2).Remaining)
	assert.Equal(t, 0, b.Allow("k", 2).Remaining)
	assert.False(t, a.Allow("k", 2).Allowed)
	assert.True(t, other.Allow("k", 2).Allowed)
}

// The password of a Redis stood in the log of a service whose address of it was
// wrong, in our words and in those of the parser.
func TestConnectRefuses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"", "localhost:6379", "http://localhost", "redis://localhost:port", "redis://u:secret%@localhost", "redis://u:secret@localhost/first",
		"redis://u:sec#ret@localhost", "redis://u:sec/secret@localhost", "redis://u:secret@localhost:6379/0?secret=1", "secret://localhost",
	} {
		_, err := Connect(address, slog.New(slog.DiscardHandler))
		require.Error(t, err, address)
		assert.ErrorContains(t, err, "it must look like redis://USER:PASSWORD@HOST:PORT/DATABASE", address)
		assert.NotContains(t, err.Error(), "sec", address)
	}
}

// While Redis was away, lines that were no JSON stood among those of the service's log.
func TestTheClientsWordsGoToTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	words{slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}.Printf(t.Context(), "failed after %d attempts\n", 5)
	var line map[string]any
	require.NoError(t, json.Unmarshal(log.Bytes(), &line), log.String())
	assert.Equal(t, "failed after 5 attempts\n", line["says"])
}

func TestOptions(t *testing.T) {
	t.Parallel()
	s := &server{t: t, dir: t.TempDir()}
	for name, edit := range map[string]func(*Options){
		"Redis":   func(o *Options) { o.Redis = nil },
		"prefix":  func(o *Options) { o.Prefix = "" },
		"window":  func(o *Options) { o.Window = 0 },
		"timeout": func(o *Options) { o.Timeout = 0 },
		"pause":   func(o *Options) { o.Pause = 0 },
	} {
		opts := s.limiter(nil, long).opts
		edit(&opts)
		_, err := New(opts)
		assert.ErrorContains(t, err, name)
	}
}
