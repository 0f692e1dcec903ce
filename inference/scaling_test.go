package inference_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/models"
)

// A simulated GPU. No card was measured: the figures are assumed, after the shape
// that such tables have (a launch costs much the same for any batch, and each row a
// little more), for a small convolutional network in 16-bit precision. To see
// another card, put its measured times here.
const (
	launch = time.Millisecond       // a batch
	each   = 100 * time.Microsecond // a row of it
)

// What comes: requests of six rows, as a picture has tiles, each of which has to
// be answered within 100 ms or be refused.
const (
	rowsEach = 6
	deadline = 100 * time.Millisecond
)

// As inference/ort has them on a GPU.
var gpuSizes = []int{1, 4, 16, 32, 64} //nolint:gochecknoglobals // a constant, if Go had such

// capacity is the most requests a second that so many cards can bear.
func capacity(cards int) float64 {
	most := gpuSizes[len(gpuSizes)-1]
	return float64(cards) * float64(most) / (launch + time.Duration(most)*each).Seconds() / rowsEach
}

// gpu takes the time that the table says. What it reads and gives is nothing.
type gpu struct {
	out   [64]float32
	mu    sync.Mutex
	runs  int
	total int // rows
}

func (g *gpu) Sizes() []int       { return gpuSizes }
func (g *gpu) Row(int) models.Row { return models.Row{} }

func (g *gpu) Run(n int) ([]float32, error) {
	i, _ := slices.BinarySearch(gpuSizes, n)
	<-time.After(launch + time.Duration(gpuSizes[i])*each)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs, g.total = g.runs+1, g.total+n
	return g.out[:n], nil
}

// scaled is what came of a load.
type scaled struct {
	cards    int
	load     float64 // requests a second
	goodput  float64 // answers in time that come in a second
	p50, p99 float64 // milliseconds, of those
	batch    float64 // rows, on average
}

// simulate puts a load on so many cards, in virtual time: the scheduler is the
// real one.
func simulate(t *testing.T, cards int, load float64, length time.Duration) scaled {
	t.Helper()
	result := scaled{cards: cards, load: load}
	synctest.Test(t, func(t *testing.T) {
		var gpus []*gpu
		var executors []inference.Executor
		for range cards {
			gpus = append(gpus, &gpu{})
			executors = append(executors, inference.Executor{"m": gpus[len(gpus)-1]})
		}
		s, err := inference.NewScheduler(inference.DefaultSchedulerOptions(), executors)
		require.NoError(t, err)
		defer s.Close()
		for _, n := range gpuSizes {
			s.Seed("m", n, launch+time.Duration(n)*each)
		}
		took := arrivals(t, s, load, length)
		for _, g := range gpus {
			result.batch += float64(g.total) / float64(len(gpus)*max(g.runs, 1))
		}
		slices.Sort(took)
		result.goodput = float64(len(took)) / length.Seconds()
		if n := len(took); n > 0 {
			result.p50, result.p99 = 1e3*took[n/2].Seconds(), 1e3*took[n*99/100].Seconds()
		}
	})
	return result
}

// arrivals has requests come at random until length has passed, after a warm-up,
// and returns the latencies of those that were answered in time meanwhile. What is
// answered later was done later: to count it would flatter the cards.
func arrivals(t *testing.T, s *inference.Scheduler, load float64, length time.Duration) (took []time.Duration) {
	t.Helper()
	const warmup = 300 * time.Millisecond
	random := rand.New(rand.NewPCG(1, uint64(load)))
	work := inference.Work{Model: "m", Rows: rowsEach, Fill: func(int, models.Row) {}}
	var mu sync.Mutex
	var all sync.WaitGroup
	begin := time.Now()
	for due := begin; due.Sub(begin) < warmup+length; due = due.Add(time.Duration(random.ExpFloat64() / load * float64(time.Second))) {
		if wait := time.Until(due); wait > 0 {
			<-time.After(wait)
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			_, err := s.Run(ctx, work)
			end := time.Since(begin)
			if err != nil || end < warmup || end >= warmup+length || time.Since(due) > deadline {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(due))
		})
	}
	all.Wait()
	return took
}

// At 10,000 requests a second one, two and four simulated cards do all that they
// can, and eight do everything. Just beyond what they can, where the line grows, they
// were said to do more: what they answered after the load had ended counted as well.
func TestScaling(t *testing.T) {
	t.Parallel()
	for _, cards := range []int{1, 2, 4, 8} {
		for _, load := range []float64{10_000, 1.05 * capacity(cards)} {
			got, most := simulate(t, cards, load, time.Second), min(load, capacity(cards))
			assert.Greater(t, got.goodput, .97*most, "%+v", got)
			assert.LessOrEqual(t, got.goodput, 1.01*most, "%+v", got)
			assert.LessOrEqual(t, got.p99, 1e3*deadline.Seconds(), "%+v", got)
			t.Logf("%+v, of %.0f a second", got, capacity(cards))
		}
	}
}

// TestDrawScaling draws DESIGN.md's picture, from the repository's root with
// DEEPFAKED_SCALING=$PWD/inference/scaling.png go test -v -run DrawScaling ./inference
// (tests run in the folder of their package).
func TestDrawScaling(t *testing.T) {
	t.Parallel()
	path := os.Getenv("DEEPFAKED_SCALING")
	if path == "" {
		t.Skip("DEEPFAKED_SCALING names no file to draw into")
	}
	var all []scaled
	for _, cards := range []int{1, 2, 4, 8} {
		loads := []float64{10_000, 14_000}
		for _, share := range []float64{.02, .1, .25, .4, .55, .7, .8, .9, .95, 1, 1.05, 1.1, 1.2, 1.5, 2} {
			if load := share * capacity(cards); load < 14_000 {
				loads = append(loads, load)
			}
		}
		for _, load := range loads {
			all = append(all, simulate(t, cards, load, 4*time.Second))
			t.Logf("%+v", all[len(all)-1])
		}
	}
	slices.SortStableFunc(all, func(a, b scaled) int { return int(a.load - b.load) })
	require.NoError(t, drawScaling(path, all))
}
