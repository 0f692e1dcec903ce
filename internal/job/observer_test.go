package job

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/preprocess"
)

// observed is how attempts have ended.
type observed struct {
	mu   sync.Mutex
	ends []End
}

func (o *observed) Attempted(end End, waited, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if waited >= 0 && took > 0 {
		o.ends = append(o.ends, end)
	}
}

func (o *observed) seen() []End {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]End(nil), o.ends...)
}

func TestObserverIsToldOfAttempts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		detect detector
		want   []End
	}{
		"success": {good, []End{Complete}},
		"failure": {failing(errors.New("broken")), []End{Retried, Retried, GaveUp}},
		// Both were told as the next is, which is the file's fault and no reason for an alert.
		"too long": {failing(ErrTooLate), []End{GaveUp}},
		"damage":   {failing(&preprocess.Error{Code: preprocess.UnsupportedMediaType, Message: "No media."}), []End{Failed}},
		"too much work at first": {func() detector {
			var asked atomic.Bool
			return func(ctx context.Context, r inference.Request) (inference.Result, error) {
				if !asked.Swap(true) {
					return inference.Result{}, &inference.SaturatedError{}
				}
				return good(ctx, r)
			}
		}(), []End{Postponed, Complete}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen, opts := &observed{}, options(1)
			opts.Observer = seen
			f := setup(t, onSQLite(t), c.detect, opts)
			f.ended(f.submit(1)[0])
			assert.Eventually(t, func() bool { return len(seen.seen()) == len(c.want) }, patience, time.Millisecond)
			assert.Equal(t, c.want, seen.seen())
		})
	}
}

// What waits is counted without looking at a single job: autoscalers ask often.
func TestWaiting(t *testing.T) {
	t.Parallel()
	opts := options(0)
	f := setup(t, onSQLite(t), good, opts)
	f.submit(3)
	n, err := f.jobs.Waiting(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	rows, err := f.books.Reader().QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+countAllWaiting)
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
		assert.True(t, strings.HasPrefix(detail, "SEARCH") && strings.Contains(detail, "USING COVERING INDEX"), detail)
	}
	require.NoError(t, rows.Err())
}
