package inference

import (
	"context"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/models"
)

// How the kernel treats a thread is tied to it: what Computing begins on one must end there,
// also after a run that panics, or a thread that others use later keeps long time slices.
func TestComputingIsForEachRun(t *testing.T) {
	t.Parallel()
	var steps []string
	threads := map[int]bool{}
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
	for i := range 3 {
		_, err := s.Run(context.Background(), Work{Model: "m", Rows: 1, Fill: func(_ int, row models.Row) { row.F32[0] = float32(i) }})
		assert.Equal(t, i == 1, err != nil, "row %d: %v", i, err)
	}
	s.Close()
	assert.Equal(t, slices.Repeat([]string{"begin", "run", "end"}, 3), steps)
	assert.Len(t, threads, 1)
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
