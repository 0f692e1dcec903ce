package inference

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/models"
)

// How the kernel treats a thread is tied to it: what Computing begins on one must end there,
// also after a run that panics, or a thread that others use later keeps long time slices.
func TestComputingIsForEachRun(t *testing.T) {
	t.Parallel()
	steps, threads := computing(t, time.Minute)
	assert.Equal(t, slices.Repeat([]string{"begin", "run", "end"}, 3), steps)
	assert.Len(t, threads, 1)
}

// A run that the kernel would not cut anyway was guarded like any other: a row of a model of 3 µs took 78 to 97 µs
// longer than in a loop in place of 50 to 66, and more than the 100 that are allowed in a slow hour of the machine.
func TestComputingIsForLongRunsAlone(t *testing.T) {
	t.Parallel()
	steps, _ := computing(t, brief/2)
	assert.Equal(t, slices.Repeat([]string{"run"}, 3), steps)
}

// computing is what an executor does on which threads that runs three batches, where they are known to take so long.
func computing(t *testing.T, takes time.Duration) (steps []string, threads map[int]bool) {
	t.Helper()
	threads = map[int]bool{}
	note := func(step string) { steps, threads[syscall.Gettid()] = append(steps, step), true }
	r := computed{meanRunner{{F32: make([]float32, 1)}}, func() { note("run") }}
	opts := DefaultSchedulerOptions()
	opts.Computing = func() func() {
		note("begin")
		return func() { note("end") }
	}
	opts.LockThreads = true // Computing locks it in the service
	s, err := NewScheduler(opts, []Executor{{"m": r}})
	require.NoError(t, err)
	s.Seed("m", 1, takes)
	for i := range 3 {
		_, err := s.Run(context.Background(), Work{Model: "m", Rows: 1, Fill: func(_ int, row models.Row) { row.F32[0] = float32(i) }})
		assert.Equal(t, i == 1, err != nil, "row %d: %v", i, err)
	}
	s.Close()
	return steps, threads
}

// computed says when it runs, and panics at the number 1.
type computed struct {
	meanRunner

	runs func()
}

func (c computed) Run(n int) ([]float32, error) {
	c.runs()
	if c.Row(0).F32[0] == 1 {
		panic("no such number")
	}
	return c.meanRunner.Run(n)
}
