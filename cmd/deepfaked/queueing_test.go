package main

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/inference/ort"
	"deepfaked/models"
)

// steady is a model that takes a while for whatever it is given.
type steady struct{}

func (steady) Sizes() []int       { return []int{8} }
func (steady) Row(int) models.Row { return models.Row{F32: make([]float32, 1)} }
func (steady) Run(n int) ([]float32, error) {
	<-time.After(time.Millisecond)
	return make([]float32, n), nil
}

// TestFilmsOfALargeServer: on 64 cores the gate has places for 128 films, of 64 tiles and
// overviews each, and the scheduler took 4,096 rows: every other film was let in, decoded,
// and then refused. `eval` counted such files as failed.
func TestFilmsOfALargeServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		scheduler, err := inference.NewScheduler(queueing(ort.CPU, care{}), []inference.Executor{{"m": steady{}}})
		require.NoError(t, err)
		defer scheduler.Close()
		var all sync.WaitGroup
		for range placesEach * 64 / 2 {
			all.Go(func() {
				_, err := scheduler.Run(t.Context(), inference.Work{Model: "m", Rows: 64, Fill: func(int, models.Row) {}})
				assert.NoError(t, err)
			})
		}
		all.Wait()
	})
}

// An executor that is locked to a thread of its own makes every row wait for two threads to wake up: 50 to 100 µs.
// CUDA wants that, a processor does not.
func TestExecutorsOfAProcessorAreLockedToNoThread(t *testing.T) {
	t.Parallel()
	assert.False(t, queueing(ort.CPU, care{}).LockThreads)
	assert.True(t, queueing(ort.CUDA, care{}).LockThreads)
}
