//go:build gocv_specific_modules

package main

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"deepfaked/inference"
)

// slots are decoders; a file waits for one that is idle.
type slots chan struct{}

func (s slots) Try(ctx context.Context, _ *os.File, _ int64) error {
	select {
	case s <- struct{}{}:
		<-s
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestBusyDecodersAreNoFault: while all decoders were at work on long videos, one analysis that failed by
// no fault of its file was enough to have the service refuse everybody, and be restarted: its
// self-test waited for a decoder until its time was over.
func TestBusyDecodersAreNoFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, scheduler := hangingScheduler(t)
		defer scheduler.Close()
		decoders := make(slots, 2)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := examined(ctx, scheduler, decoders)
		for range cap(decoders) {
			decoders <- struct{}{}
			time.AfterFunc(testFor+tendEvery, func() { <-decoders })
		}
		assert.Error(t, s.judge.doubted(&inference.FaultError{Err: errors.New("a decoder was killed for want of memory")}, false))
		<-time.After(testFor + time.Second)
		assert.NoError(t, s.ready())
		assert.NoError(t, s.judge.healthy())
	})
}

// startless are decoders of which none comes up: each start hangs until it is given up, and callers are told so
// until the next begins.
type startless struct{ since time.Time }

func (s startless) Try(ctx context.Context, _ *os.File, _ int64) error {
	const start, pause = 30 * time.Second, 10 * time.Second
	until := start - time.Since(s.since)%(start+pause)
	select {
	case <-time.After(max(until, 0)):
		return errors.New("no decoder can be started")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestDecodersThatDoNotStart: that a test which found no decoder in time was taken for one among busy ones
// had a service without any call itself healthy again and again, and jobs lose an attempt each time.
func TestDecodersThatDoNotStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, scheduler := hangingScheduler(t)
		defer scheduler.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := examined(ctx, scheduler, startless{time.Now()})
		healthy := 0
		for second := range 300 {
			if s.judge.healthy() == nil {
				_ = s.judge.doubted(&inference.FaultError{Err: errors.New("no decoder can be started")}, false)
				if second > 60 {
					healthy++
				}
			}
			<-time.After(time.Second)
		}
		assert.Zero(t, healthy, "seconds after the first minute")
	})
}
