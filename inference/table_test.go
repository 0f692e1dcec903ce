package inference

import (
	"cmp"
	"testing"
	"time"

	"deepfaked/models"
)

// tabled is a table in which a batch costs fixed, and each for each row that it
// is padded to.
func tabled(sizes []int, fixed, each time.Duration) table {
	t := newTable(sizes)
	for _, n := range sizes {
		t.observe(n, fixed+time.Duration(n)*each)
	}
	return t
}

func TestBatchesFitTheWarmedSizes(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	powers := []int{1, 2, 4, 8}
	for _, c := range []struct {
		name        string
		table       table
		share, rows int
		want        int
	}{
		{"nothing known: all at once", newTable(powers), 5, 5, 5},
		{"nothing known: no more than fits", newTable(powers), 20, 20, 8},
		{"warmed size", tabled(powers, 5*ms, ms), 4, 4, 4},
		{"a batch costs as much as a row: padded", tabled(powers, 5*ms, ms/10), 5, 5, 5},
		{"each row costs the same: alone", tabled(powers, 0, ms), 5, 5, 1},
		{"each row costs a bit less in company: split", tabled(powers, ms/4, ms), 5, 5, 4},
		{"others fill it up", tabled(powers, 5*ms, ms/10), 5, 10, 8},
	} {
		if got := c.table.fit(c.share, c.rows, c.table.most()); got != c.want {
			t.Errorf("%s: %d rows, want %d", c.name, got, c.want)
		}
	}
}

func TestBatchesGrowToWhatIsCheapest(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	for _, c := range []struct {
		name string
		took []time.Duration // of 1, 2, 4 and 8 rows
		want int
	}{
		{"nothing known", []time.Duration{0, 0, 0, 0}, 8},
		{"the largest not known", []time.Duration{ms, 2 * ms, 4 * ms, 0}, 8},
		{"a batch costs as much as a row", []time.Duration{ms, ms, ms, ms}, 8},
		{"each row costs the same", []time.Duration{10 * ms, 20 * ms, 40 * ms, 81 * ms}, 1},
		{"the caches hold four", []time.Duration{10 * ms, 19 * ms, 36 * ms, 80 * ms}, 4},
	} {
		table := newTable([]int{1, 2, 4, 8})
		for i, took := range c.took {
			if took > 0 {
				table.observe(table.sizes[i], took)
			}
		}
		if got := table.most(); got != c.want {
			t.Errorf("%s: up to %d rows, want %d", c.name, got, c.want)
		}
	}
}

// Batches that had to wait for a processor used to pass for dear ones.
func TestNoiseDoesNotChooseTheSize(t *testing.T) {
	t.Parallel()
	table := newTable([]int{1, 8})
	for i := range 200 {
		noise := time.Duration(i%5) * 3 * time.Millisecond
		table.observe(8, 40*time.Millisecond+noise/2)
		table.observe(1, 4*time.Millisecond+noise)
	}
	if table.most() != 1 {
		t.Errorf("up to %d rows, want 1: a row costs 4 ms alone and 5 ms among eight", table.most())
	}
	for range 100 { // others stay on the machine
		table.observe(1, 9*time.Millisecond)
	}
	if table.most() != 8 {
		t.Errorf("up to %d rows, want 8: a row alone costs 9 ms now", table.most())
	}
}

// Machines that others use are slower for seconds at a time. Only sizes that were run noticed: the others kept what they had
// taken at the best of times, looked cheaper the longer they weren't run, and sounds whose windows cost least alone were judged in
// batches of four and eight.
func TestASlowMachineMakesNoOtherSizeCheaper(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	table := newTable([]int{1, 2, 4, 8})
	for i, took := range []time.Duration{99 * ms, 197 * ms, 365 * ms, 790 * ms} {
		table.observe(table.sizes[i], took)
	}
	for range 100 {
		table.observe(1, 120*ms)
	}
	if got := table.grown(10); got != 1 {
		t.Errorf("batches grow to %d rows while ten are held up, want 1: a row alone costs 8 %% more than among four", got)
	}
	if table = tabled([]int{1, 64}, 2*ms, ms/20); table.most() != 64 {
		t.Fatalf("batches grow to %d rows, want 64", table.most())
	}
	table.least[0] = time.Second // it was run for the first time
	table.observe(1, 2*ms)
	if got := table.reckon(table.least, 64); got != 2*ms+64*ms/20 {
		t.Errorf("64 rows take %v as one was stopped on its way", got)
	}
}

// The first figures are taken while the service starts. Where the machine was busy
// then, one row alone passed for dear, and since batches of one were no longer
// made, it was dear for ever: 9 to 14 % of the time of the built-in picture model.
func TestDearSizesAreTriedAgain(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	table := newTable([]int{1, 2, 4, 8})
	for i, took := range []time.Duration{18 * ms, 36 * ms, 41 * ms, 176 * ms} {
		table.observe(table.sizes[i], took)
	}
	for range 4 * len(table.sizes) * retry {
		n := cmp.Or(table.stale(30), table.fit(30, 30, table.most()))
		table.observe(n, time.Duration(n)*(9*ms+time.Duration(n)*ms/2))
	}
	if table.most() != 1 {
		t.Errorf("up to %d rows, want 1: a row costs 9.5 ms alone and 11 ms among four", table.most())
	}
	hopelessly := tabled([]int{1, 8}, 20*ms, ms/10)
	for range 4 * retry {
		if n := cmp.Or(hopelessly.stale(8), hopelessly.fit(8, 8, hopelessly.most())); n != 8 {
			t.Fatalf("%d rows were run alone, which costs seven times as much", n)
		}
		hopelessly.observe(8, 21*ms)
	}
}

// instant is a model that takes no time and allocates nothing.
type instant struct {
	rows []models.Row
	out  []float32
}

func newInstant(most, length int) *instant {
	r := &instant{out: make([]float32, most)}
	for range most {
		r.rows = append(r.rows, models.Row{U8: make([]byte, length)})
	}
	return r
}

func (r *instant) Sizes() []int                 { return []int{1, len(r.rows)} }
func (r *instant) Row(i int) models.Row         { return r.rows[i] }
func (r *instant) Run(n int) ([]float32, error) { return r.out[:n], nil }

func instantScheduler(t testing.TB, runners ...*instant) *Scheduler {
	t.Helper()
	var executors []Executor
	for _, r := range runners {
		executors = append(executors, Executor{"m": r})
	}
	s, err := NewScheduler(DefaultSchedulerOptions(), executors)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// A request costs the same few allocations whatever its rows are: no row is
// copied but into the batch.
func TestRowsAllocateNothing(t *testing.T) { //nolint:paralleltest // counts what the process allocates
	s := instantScheduler(t, newInstant(8, 150528))
	allocations := func(rows int) float64 {
		w := Work{Model: "m", Rows: rows, Account: "a", Fill: func(int, models.Row) {}}
		return testing.AllocsPerRun(200, func() {
			if _, err := s.Run(t.Context(), w); err != nil {
				t.Error(err)
			}
		})
	}
	one, many := allocations(1), allocations(256)
	if one > 4 || many > one+1 {
		t.Errorf("%v allocations for a row and %v for 256, want 4 at most for both", one, many)
	}
}

// Fill writes into the memory that the model runs on.
func TestFillWritesIntoTheBatch(t *testing.T) {
	t.Parallel()
	r := newInstant(2, 16)
	s := instantScheduler(t, r)
	w := Work{Model: "m", Rows: 1, Fill: func(_ int, dst models.Row) {
		if &dst.U8[0] != &r.rows[0].U8[0] {
			t.Error("the row is somewhere else")
		}
	}}
	if _, err := s.Run(t.Context(), w); err != nil {
		t.Error(err)
	}
}

// BenchmarkScheduler is what rows cost besides their models, which here take no
// time: calls of so many rows, by many callers, of one account each.
func BenchmarkScheduler(b *testing.B) {
	for _, c := range []struct {
		name            string
		rows, executors int
	}{{"1 row/1 executor", 1, 1}, {"16 rows/1 executor", 16, 1}, {"16 rows/8 executors", 16, 8}} {
		b.Run(c.name, func(b *testing.B) {
			var runners []*instant
			for range c.executors {
				runners = append(runners, newInstant(32, 16))
			}
			s := instantScheduler(b, runners...)
			accounts := [...]string{"a", "b", "c", "d", "e", "f", "g", "h"}
			b.ReportAllocs()
			b.SetParallelism(64)
			b.RunParallel(func(p *testing.PB) {
				for i := 0; p.Next(); i++ {
					w := Work{Model: "m", Rows: c.rows, Account: accounts[i%len(accounts)], Fill: func(int, models.Row) {}}
					if _, err := s.Run(b.Context(), w); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N*c.rows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
