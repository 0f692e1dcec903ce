package client

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestWaitThroughRestart: Wait gave up when the service was started anew, although
// the job survives that.
func TestWaitThroughRestart(t *testing.T) {
	t.Parallel()
	away := slices.Repeat([]scripted{{}}, 9)
	for name, c := range map[string]struct {
		answers []scripted
		calls   int
		err     error
	}{
		"comes back":  {append(slices.Clone(away), complete), 10, nil},
		"goes twice":  {slices.Concat(away, []scripted{processing}, away, []scripted{complete}), 20, nil},
		"stays away":  {[]scripted{{}}, 10, syscall.ECONNREFUSED},
		"after a 503": {slices.Concat(away, []scripted{{503, "", ""}, {}, cut, complete}), 13, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, script := newClient(t, c.answers...)
				_, err := client.Wait(t.Context(), "det_1")
				if !errors.Is(err, c.err) || len(script.calls) != c.calls {
					t.Errorf("got %v after %d calls", err, len(script.calls))
				}
			})
		})
	}
}

// TestWaitIsNotForever: Wait asked until ctx ended where the answer was 501 or 505,
// which stay.
func TestWaitIsNotForever(t *testing.T) {
	t.Parallel()
	for _, status := range []int{501, 505} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			client, script := newClient(t, scripted{status, "", ""})
			_, err := client.Wait(ctx, "det_1")
			var refused *Error
			if !errors.As(err, &refused) || refused.Status != status || len(script.calls) != 1 {
				t.Errorf("got %v after %d calls", err, len(script.calls))
			}
		})
	}
}

// TestWaitTakesNoOtherAnswer: whatever JSON came with 200, such as a proxy's, passed
// for a finished detection without a verdict.
func TestWaitTakesNoOtherAnswer(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{}`, `null`, `{"id":"det_1","status":"queued"}`} {
		client, script := newClient(t, scripted{200, "", body})
		if d, err := client.Wait(t.Context(), "det_1"); err == nil || len(script.calls) != 1 {
			t.Errorf("%s: got %+v after %d calls", body, d, len(script.calls))
		}
	}
	client, _ := newClient(t, scripted{200, "", `{"id":"det_1","status":"failed","error":"x"}`})
	if d, err := client.Wait(t.Context(), "det_1"); err != nil || d.Error != "x" {
		t.Errorf("got %+v, %v", d, err)
	}
}
