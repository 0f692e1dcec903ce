package sharedlimit

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// While Redis is away the process goes on from its own count, says so once, and
// comes back by itself.
func TestRedisGoesAndComesBack(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), &bytes.Buffer{}
	s := startRedis(t, dir)
	l := s.limiter(log, long)
	var told []bool
	l.opts.Away = func(away bool) { told = append(told, away) }
	assert.Equal(t, 2, l.Allow("k", 3).Remaining)
	s.stop()
	assert.Equal(t, 1, l.Allow("k", 3).Remaining, "its own count goes on")
	assert.Equal(t, 0, l.Allow("k", 3).Remaining)
	assert.False(t, l.Allow("k", 3).Allowed)
	assert.Equal(t, 1, strings.Count(log.String(), "redis is away"), log.String())
	startRedis(t, dir)
	require.Eventually(t, func() bool {
		l.Allow("other", 1000)
		return strings.Contains(log.String(), "redis is back")
	}, 2*time.Minute, 30*time.Millisecond, "it has not come back")
	assert.Equal(t, []bool{true, false}, told, "the observer is told of changes alone")
	assert.Equal(t, 1, strings.Count(log.String(), "redis is away"), log.String())
}

// Accounts and addresses had their minute again, with one process too, from a Redis that came back
// empty, or had hung and so had not counted what was let through meanwhile.
func TestARedisThatForgotGivesNoMinuteTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startRedis(t, dir)
	l := s.limiter(nil, long)
	for range 3 {
		assert.True(t, l.Allow("all", 3).Allowed)
	}
	assert.True(t, l.Allow("some", 3).Allowed)
	s.stop()
	l.Look()
	again := startRedis(t, dir)
	l.Look()
	for range 5 {
		assert.False(t, l.Allow("all", 3).Allowed)
	}
	assert.Equal(t, 1, l.Allow("some", 3).Remaining)
	assert.Equal(t, 2, again.limiter(nil, long).Allow("all", 3).Remaining, "what is refused counts for nobody")
	l.back = l.back.Add(-long)
	assert.Equal(t, 1, l.Allow("all", 3).Remaining, "a window later Redis knows all")
}

// So had they from one that was restarted, or emptied, between two requests, which nobody noticed.
func TestARedisThatForgotUnseenGivesNoMinuteTwice(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(*testing.T, *server) *server{
		"restarted": func(t *testing.T, s *server) *server {
			t.Helper()
			s.stop()
			return startRedis(t, s.dir)
		},
		"emptied": func(t *testing.T, s *server) *server {
			t.Helper()
			require.NoError(t, s.client().FlushAll(t.Context()).Err())
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &bytes.Buffer{}
			s := startRedis(t, t.TempDir())
			l, other := s.limiter(log, long), s.limiter(nil, long)
			for range 3 {
				assert.True(t, l.Allow("all", 3).Allowed)
			}
			assert.True(t, other.Allow("other's", 1).Allowed)
			s = forget(t, s)
			assert.True(t, s.limiter(nil, long).Allow("new", 1).Allowed, "a process that has begun since marks it")
			assert.False(t, l.Allow("all", 3).Allowed)
			assert.False(t, other.Allow("other's", 1).Allowed, "each process notices")
			assert.Equal(t, 1, strings.Count(log.String(), "redis has forgotten"), log.String())
			assert.NotContains(t, log.String(), "redis is away")
			l.back = l.back.Add(-long)
			assert.True(t, l.Allow("all", 3).Allowed, "a window later Redis knows all")
		})
	}
}

// A service starts without Redis.
func TestWithoutRedis(t *testing.T) {
	t.Parallel()
	s := &server{t: t, dir: t.TempDir()}
	l := s.limiter(nil, long)
	assert.Equal(t, 0, l.Allow("k", 1).Remaining)
	assert.False(t, l.Allow("k", 1).Allowed)
}

// A wrong address was noticed with the first request, and that Redis was back with the next: where
// there were none, a service looked well without it, or ill with it.
func TestRedisIsLookedAt(t *testing.T) {
	t.Parallel()
	s, log := &server{t: t, dir: t.TempDir()}, &bytes.Buffer{}
	l := s.limiter(log, long)
	var told []bool
	l.opts.Away = func(away bool) { told = append(told, away) }
	l.Look()
	l.Look()
	startRedis(t, s.dir)
	l.Look()
	assert.Equal(t, []bool{true, false}, told)
	assert.Equal(t, 1, strings.Count(log.String(), "redis is away"), log.String())
	assert.Equal(t, 0, l.Allow("k", 1).Remaining, "looking counts for nobody")
}

// A Redis that takes no writes, because its disk or its memory is full or it has lost its replicas,
// was said to be back while each process counted by itself: looking at it wrote once a minute alone.
func TestRedisTakesNoWrites(t *testing.T) {
	t.Parallel()
	s := startRedis(t, t.TempDir())
	l := s.limiter(nil, long)
	var told []bool
	l.opts.Away = func(away bool) { told = append(told, away) }
	replicas := func(n string) {
		require.NoError(t, s.client().ConfigSet(t.Context(), "min-replicas-to-write", n).Err())
	}
	l.Look()
	replicas("1")
	l.Look()
	l.Look()
	assert.Equal(t, []bool{true}, told)
	replicas("0")
	l.Look()
	assert.Equal(t, []bool{true, false}, told)
}

// Between two looks such a Redis was said to be back by the next request that it had counted as one too
// many: to refuse that it writes nothing.
func TestARefusalDoesNotTellThatRedisIsBack(t *testing.T) {
	t.Parallel()
	s := startRedis(t, t.TempDir())
	l := s.limiter(nil, long)
	var told []bool
	l.opts.Away = func(away bool) { told = append(told, away) }
	assert.True(t, l.Allow("k", 1).Allowed)
	require.NoError(t, s.client().ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	l.Look()
	l.opts.Pause = time.Nanosecond // or Redis would not be asked
	assert.False(t, l.Allow("k", 1).Allowed)
	assert.Equal(t, []bool{true}, told)
	require.NoError(t, s.client().ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
	assert.True(t, l.Allow("other", 1).Allowed)
	assert.Equal(t, []bool{true, false}, told)
}

// When the clock of Redis was put back by an hour, clients that had made their requests of a minute
// were refused for an hour and told to come back then.
func TestTheClockOfRedisIsPutBack(t *testing.T) {
	t.Parallel()
	s := startRedis(t, t.TempDir())
	l := s.limiter(nil, long)
	assert.True(t, l.Allow("k", 1).Allowed)
	// To a key that is all that happens.
	require.NoError(t, s.client().PExpire(t.Context(), "deepfaked:{rate}:k", long+time.Hour).Err())
	another := s.limiter(nil, long) // which has not counted it by itself
	assert.True(t, another.Allow("k", 1).Allowed, "a new window")
	refused := another.Allow("k", 1)
	assert.False(t, refused.Allowed)
	assert.LessOrEqual(t, refused.Reset, long)
}

// A Redis that takes a question and does not answer holds a request up for the timeout, not until the client gives up
// by itself, which here is after an hour, and the next one not at all: that one asks nothing.
func TestRedisHangs(t *testing.T) {
	t.Parallel()
	s := &server{t: t, dir: t.TempDir()}
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", s.socket())
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	questions := make(chan struct{}, 9)
	go func() {
		for {
			c, err := silent.Accept()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
			questions <- struct{}{}
		}
	}()
	l := s.limiter(nil, long)
	patient, err := Connect("unix://"+s.socket()+"?read_timeout=-1", slog.New(slog.DiscardHandler)) // it never gives up by itself
	require.NoError(t, err)
	defer func() { _ = patient.Close() }()
	asked := &counted{Scripter: patient}
	l.opts.Redis, l.opts.Timeout, l.opts.Pause = asked, 50*time.Millisecond, time.Hour
	assert.True(t, l.Allow("k", 2).Allowed)
	assert.Equal(t, 1, asked.times, "it was not asked")
	assert.True(t, l.Allow("k", 2).Allowed)
	assert.Equal(t, 1, asked.times, "it was asked again")
}

// counted counts the questions.
type counted struct {
	redis.Scripter

	times int
}

func (c *counted) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	c.times++
	return c.Scripter.EvalSha(ctx, sha, keys, args...)
}

// A question that was cut off may have been counted: asked again at once, one request would
// count several times. The next request tries again.
func TestAQuestionIsAskedOnce(t *testing.T) {
	t.Parallel()
	s := &server{t: t, dir: t.TempDir()}
	rude, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", s.socket())
	require.NoError(t, err)
	var asked atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := rude.Accept()
			if err != nil {
				return
			}
			if n, _ := conn.Read(make([]byte, 1)); n > 0 {
				asked.Add(1)
			}
			_ = conn.Close()
		}
	}()
	l := s.limiter(nil, long)
	l.opts.Pause = time.Minute
	assert.True(t, l.Allow("k", 2).Allowed)
	_ = rude.Close()
	<-ended
	assert.EqualValues(t, 1, asked.Load())
}
