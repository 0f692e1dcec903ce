package inference

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// ofExtent is work of an account with so many rows.
func ofExtent(extent int, account string, rows int) Work {
	w := numbers(make([]float32, rows)...)
	w.Account, w.Extent = account, extent
	return w
}

// TestExtentsOfTwoAccounts: turns change with every row, so that the rows of two
// accounts whose pictures differ in extent went one by one: in 170 ms, where 20 do.
func TestExtentsOfTwoAccounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSimulated(64, 5*time.Millisecond, 100*time.Microsecond)
		s := setup(t, DefaultSchedulerOptions(), r)
		seed(s, r)
		var all sync.WaitGroup
		start := time.Now()
		for _, w := range []Work{ofExtent(1, "first", 16), ofExtent(1, "a", 16), ofExtent(2, "b", 16)} {
			all.Go(func() { mustRun(t, s, w) })
			synctest.Wait()
		}
		all.Wait()
		if got := fmt.Sprint(r.batches); got != "[16 16 16]" {
			t.Errorf("batches %v in %v, want [16 16 16]", got, time.Since(start))
		}
	})
}

// highest answers each row by the largest number of its batch, as it is padded.
type highest struct{ *simulated }

func (h highest) Sizes() []int { return []int{4} }

func (h highest) Run(n int) ([]float32, error) {
	most := h.rows[0].F32[0]
	for _, row := range h.rows {
		most = max(most, row.F32[0])
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = most
	}
	return out, nil
}

// TestPaddingIsOfTheSameExtent: batches were filled up with what an earlier one had left
// there, so that the faces of a picture depended on whose had been looked at before.
func TestPaddingIsOfTheSameExtent(t *testing.T) {
	t.Parallel()
	s, err := NewScheduler(DefaultSchedulerOptions(), []Executor{{"m": highest{newSimulated(4, 0, 0)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wide, narrow := numbers(9, 9, 9, 9), numbers(1, 2)
	wide.Extent, narrow.Extent = 2, 1
	mustRun(t, s, wide)
	if got, err := s.Run(t.Context(), narrow); err != nil || fmt.Sprint(got) != "[2 2]" {
		t.Errorf("%v, %v: want [2 2], which the wide rows before have no part in", got, err)
	}
}
