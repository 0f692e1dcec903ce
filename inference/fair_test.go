package inference

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"deepfaked/models"
)

// tally counts the rows that were served, by account.
type tally struct {
	mu   sync.Mutex
	rows map[string]int
}

func (c *tally) count(account string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows[account]++
}

// Accounts that always have work waiting get the same share, however much they
// send at once and whenever they came.
func TestBackloggedAccountsShareAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		executors := rapid.IntRange(1, 4).Draw(rt, "executors")
		batch := rapid.SampledFrom([]int{1, 4, 8}).Draw(rt, "batch")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 16), 2, 5).Draw(rt, "rows at once, by account")
		served := &tally{rows: map[string]int{}}
		synctest.Test(t, func(t *testing.T) {
			var runners []*simulated
			for range executors {
				runners = append(runners, newSimulated(batch, time.Millisecond, time.Millisecond))
			}
			s := setup(t, DefaultSchedulerOptions(), runners...)
			seed(s, runners[0])
			backlog(t, s, "first", 16, &tally{rows: map[string]int{}})
			<-time.After(time.Second)
			for i, rows := range sizes {
				backlog(t, s, fmt.Sprint(i), rows, served)
			}
			<-time.After(2 * time.Second)
			s.Close()
		})
		low, high := 1<<30, 0
		for _, n := range served.rows {
			low, high = min(low, n), max(high, n)
		}
		if len(served.rows) != len(sizes) || low < high-high/10-2*16*executors {
			rt.Fatalf("accounts that send %v rows at once were served %v", sizes, served.rows)
		}
	})
}

// backlog keeps so much waiting that the account always has more, until the
// scheduler is closed.
func backlog(t *testing.T, s *Scheduler, account string, rows int, served *tally) {
	t.Helper()
	for range 1 + 2*64/rows {
		go func() {
			for {
				w := Work{Model: "m", Rows: rows, Account: account, Fill: func(_ int, dst models.Row) {
					dst.F32[0] = 0
					served.count(account)
				}}
				if _, err := s.Run(t.Context(), w); err != nil {
					return
				}
			}
		}()
	}
	synctest.Wait()
}

// Jobs that have waited for long used to go before everybody: a person stood
// behind all of them.
func TestRipeBackgroundOnlyTakesTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSimulated(1, time.Second, 0)
		s := setup(t, DefaultSchedulerOptions(), r)
		s.Seed("m", 1, time.Second)
		var wg sync.WaitGroup
		jobs := numbers(make([]float32, 100)...)
		jobs.Account, jobs.Priority = "jobs", Background
		wg.Go(func() { mustRun(t, s, jobs) })
		<-time.After(30*time.Second + time.Millisecond)
		for range 5 {
			person := numbers(1)
			person.Account = "person"
			start := time.Now()
			mustRun(t, s, person)
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("a person waited for %v behind jobs", took)
			}
		}
		wg.Wait()
	})
}

// What one account has waiting delays another, that has nothing, by no more than
// a turn, even where its work is for another model.
func TestModestAccountIsNotRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSimulated(4, time.Second, 0)
		s := setup(t, DefaultSchedulerOptions(), r)
		seed(s, r)
		greedy := numbers(make([]float32, 100)...)
		greedy.Account = "greedy"
		var wg sync.WaitGroup
		wg.Go(func() { mustRun(t, s, greedy) })
		synctest.Wait()
		<-time.After(time.Millisecond)
		modest := numbers(1)
		modest.Account = "modest"
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		if _, err := s.Run(ctx, modest); err != nil {
			t.Errorf("behind 25 s of another account's work: %v", err)
		}
		wg.Wait()
	})
}

// Who comes while another is served starts with the same tag as all who do. Of those the
// one whose deadline is nearest goes first, whenever it came.
func TestEarliestDeadlineGoesFirstAmongEquals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSimulated(1, time.Second, 0)
		s := setup(t, DefaultSchedulerOptions(), r)
		s.Seed("m", 1, time.Second)
		var all sync.WaitGroup
		for i, hurry := range []time.Duration{time.Hour, time.Hour, 10 * time.Minute, time.Minute} { // the first keeps the executor busy
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), hurry)
				defer cancel()
				w := numbers(float32(i))
				w.Account = fmt.Sprint(i)
				if _, err := s.Run(ctx, w); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if got := fmt.Sprint(r.order); got != "[0 3 2 1]" {
			t.Errorf("accounts were served in the order %s, want [0 3 2 1]", got)
		}
	})
}

// Two callers of one account with pictures, one of whom came while the other was served,
// used to keep another account's films out for good: with the last picture that waited
// what the account had been served was forgotten, so that each went before all films.
func TestServedAccountIsNotTakenForNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visits{gate: newTestGate(1, func(o *DetectorOptions) { o.Wait, o.Burst = time.Hour, time.Hour })}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Second, cancel)
		served := &tally{rows: map[string]int{}}
		again := func(account string, size int64, takes time.Duration) {
			for v.through(ctx, Request{Account: account, Size: size}, takes) == nil {
				served.count(account)
			}
		}
		for range 10 {
			v.Go(func() { again("films", 100<<20, time.Second) })
		}
		<-time.After(5 * time.Second) // it is known what a film takes
		for range 2 {
			v.Go(func() { again("pictures", 100<<10, 100*time.Millisecond) })
		}
		v.Wait()
		if films, pictures := served.rows["films"], served.rows["pictures"]; films < 45 || pictures < 400 {
			t.Errorf("of 100 s that two accounts shared, one had %d films of 1 s, the other %d pictures of 0.1 s", films, pictures)
		}
	})
}
