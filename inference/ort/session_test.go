package ort

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"deepfaked/models"
)

const tolerance = 1e-5

func TestRunAgreesWithTheFormulaInEveryBatch(t *testing.T) {
	env := openEnvironment(t, nil)
	for _, model := range []*models.Model{bytesModel(t), floatsModel(t)} {
		t.Run(model.Card.Name, func(t *testing.T) {
			s := newTestSession(t, env, model, 6)
			for n := 1; n <= s.MaxBatch(); n++ {
				checkRun(t, s, n, n*100)
			}
		})
	}
}

// A variant in half precision is run like any other graph, by a CPU as well, and takes
// and gives what the model does, but for what rounding costs.
func TestRunInHalfPrecision(t *testing.T) {
	env := openEnvironment(t, nil)
	s, full := newTestSession(t, env, halfModel(t), 3), newTestSession(t, env, bytesModel(t), 3)
	for i := range 3 {
		fill(s.Row(i), i)
		fill(full.Row(i), i)
	}
	got, err := s.Run(3)
	if err != nil {
		t.Fatal(err)
	}
	want, err := full.Run(3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if off := math.Abs(float64(got[i] - want[i])); off == 0 || off > 0.02 {
			t.Errorf("row %d: %g is %g off %g, want a rounding error", i, got[i], off, want[i])
		}
	}
}

// A model that finds things has many numbers to say of a row: they follow those of
// the row before, and the self-test compares the first of its own row.
func TestRowsOfManyNumbers(t *testing.T) {
	env := openEnvironment(t, nil)
	s := newTestSession(t, env, wideModel(t), 3)
	for n := 1; n <= s.MaxBatch(); n++ {
		var want []float32
		for i := range n {
			fill(s.Row(i), 10*n+i)
			for _, b := range s.Row(i).U8 {
				want = append(want, float32(b))
			}
		}
		if got, err := s.Run(n); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d rows: got %v (%v), want %v", n, got, err, want)
		}
	}
	card := models.Card{Golden: models.Golden{Pattern: "lcg", Output: 60, Tolerance: .1}}
	if err := Golden(s, card); err != nil {
		t.Error(err)
	}
}

// checkRun fills n rows by seed, runs them and compares each output.
func checkRun(t *testing.T, s *Session, n, seed int) {
	t.Helper()
	for i := range n {
		fill(s.Row(i), seed+i)
	}
	logits, err := s.Run(n)
	if err != nil {
		t.Fatal(err)
	}
	if len(logits) != n {
		t.Fatalf("%d outputs for %d rows", len(logits), n)
	}
	for i, got := range logits {
		if w := want(s.Row(i)); math.Abs(float64(got)-w) > tolerance {
			t.Errorf("row %d of %d is %g, want %g", i, n, got, w)
		}
	}
}

// TestRunWithoutBinding covers the way that other devices run: values are
// handed over with each run.
func TestRunWithoutBinding(t *testing.T) {
	env := openEnvironment(t, nil)
	s := newTestSession(t, env, bytesModel(t), 4)
	for _, b := range s.tensor.batches {
		if b.binding == nil { // on a GPU
			continue
		}
		if err := b.binding.Destroy(); err != nil {
			t.Fatal(err)
		}
		b.binding = nil
	}
	for n := 1; n <= 4; n++ {
		checkRun(t, s, n, n*10)
	}
}

func TestRowsDoNotOverlap(t *testing.T) {
	env := openEnvironment(t, nil)
	s := newTestSession(t, env, bytesModel(t), 3)
	for i := range 3 {
		row := s.Row(i).U8
		if len(row) != 48 || cap(row) != 48 {
			t.Fatalf("row %d has %d bytes of %d", i, len(row), cap(row))
		}
		for j := range row {
			row[j] = byte(i)
		}
	}
	for i := range 3 {
		if row := s.Row(i).U8; row[0] != byte(i) || row[47] != byte(i) {
			t.Errorf("row %d was overwritten", i)
		}
	}
}

func TestRunRefusesImpossibleSizes(t *testing.T) {
	env := openEnvironment(t, nil)
	s := newTestSession(t, env, bytesModel(t), 2)
	for _, n := range []int{-1, 0, 3} {
		if logits, err := s.Run(n); err == nil {
			t.Errorf("a run of %d rows gave %v", n, logits)
		}
	}
	for _, n := range []int{0, -1, maxRows + 1} {
		if _, err := env.NewSession(bytesModel(t), n); err == nil {
			t.Errorf("a session for %d rows was made", n)
		}
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	env := openEnvironment(t, nil)
	if env.Provider() != CPU {
		t.Skip("values are handed over with each run on a GPU, which allocates")
	}
	s := newTestSession(t, env, bytesModel(t), 4)
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := s.Run(3); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("a run allocates %g times", allocs)
	}
}

func TestGraphMustFitTheCard(t *testing.T) {
	env := openEnvironment(t, nil)
	edit := func(change func(*models.Card)) *models.Model {
		m := bytesModel(t)
		change(&m.Card)
		return m
	}
	shape := []int64{-1, 4, 4, 3}
	two := model(t, "two-inputs", models.Tensor{Name: "x"}, models.Tensor{Name: "y"})
	fixed := model(t, "fixed", bytesModel(t).Card.Input, bytesModel(t).Card.Output)
	cases := map[string]struct {
		model *models.Model
		field string
	}{
		"input name":   {edit(func(c *models.Card) { c.Input.Name = "pixels" }), "input.name"},
		"input type":   {edit(func(c *models.Card) { c.Input.Type = "float32" }), "input.type"},
		"input side":   {edit(func(c *models.Card) { c.Input.Shape = []int64{-1, 5, 5, 3} }), "input.shape"},
		"input rank":   {edit(func(c *models.Card) { c.Input.Shape = []int64{-1, 48} }), "input.shape"},
		"output name":  {edit(func(c *models.Card) { c.Output.Name = "logit" }), "output.name"},
		"output rank":  {edit(func(c *models.Card) { c.Output.Shape = []int64{-1} }), "output.shape"},
		"output type":  {edit(func(c *models.Card) { c.Output = models.Tensor{Name: "y", Type: "uint8", Shape: shape} }), "output.type"},
		"second input": {two, "input"},
		"batch of one": {fixed, "input.shape"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := env.NewSession(tc.model, 2)
			graph, ok := errors.AsType[*GraphError](err)
			if !ok || graph.Field != tc.field {
				t.Errorf("error is %v, want a GraphError of %s", err, tc.field)
			}
		})
	}
}

func TestNewSessionRefusesWhatIsNotONNX(t *testing.T) {
	env := openEnvironment(t, nil)
	for name, data := range map[string][]byte{"nothing": nil, "text": []byte("not a graph")} {
		m := bytesModel(t)
		m.ONNX = data
		if _, err := env.NewSession(m, 1); err == nil || !strings.Contains(err.Error(), "bytes") {
			t.Errorf("%s: %v, want an error that names the model", name, err)
		}
	}
}

func TestGolden(t *testing.T) {
	env := openEnvironment(t, nil)
	for _, m := range []*models.Model{bytesModel(t), floatsModel(t)} {
		s := newTestSession(t, env, m, 3)
		row := models.Row{U8: make([]byte, 48)}
		if m.Card.Input.Type == "float32" {
			row = models.Row{F32: make([]float32, 16)}
		}
		m.Card.Golden = models.Golden{Pattern: "lcg", Tolerance: 1e-4}
		m.Card.Golden.Fill(row)
		m.Card.Golden.Output = want(row)
		if err := Golden(s, m.Card); err != nil {
			t.Errorf("right number: %v", err)
		}
		m.Card.Golden.Output += 1e-3
		if _, ok := errors.AsType[*GoldenError](Golden(s, m.Card)); !ok {
			t.Errorf("%s: a wrong number passed", m.Card.Name)
		}
	}
}

// Only the first number of a row was looked at. A model that finds faces and gave -Inf for boxes
// that are none was called ok, and the service that took it refused its first picture, and
// then all files: the scheduler settles no row that holds what is no number.
func TestGoldenSeesWhatIsNoNumber(t *testing.T) {
	env := openEnvironment(t, nil)
	m := wideModel(t)
	m.ONNX = onnx(t, "padded")
	s := newTestSession(t, env, m, 3)
	m.Card.Golden = models.Golden{Pattern: "lcg", Output: 60, Tolerance: .1}
	err := Golden(s, m.Card)
	if found, ok := errors.AsType[*GoldenError](err); !ok || found.Batch != 1 || found.Index != 47 || !math.IsInf(found.Got, -1) {
		t.Fatalf("-Inf behind a right number: %v, want an error about it", err)
	}
	if !strings.Contains(err.Error(), "model wide: in a batch of 1 the self-test gives -Inf as number 48 of its row") {
		t.Errorf("it says %v", err)
	}
}

// The other rows of the batch held the same pattern, so that a graph whose answer
// depends on its neighbours passed, as one has it that quantize_dynamic made: in
// service a file's score hung on whose files it was judged with.
func TestGoldenSeesRowsThatMix(t *testing.T) {
	env := openEnvironment(t, nil)
	m := mixedModel(t)
	s := newTestSession(t, env, m, 4)
	m.Card.Golden = models.Golden{Pattern: "lcg", Tolerance: 1e-3}
	m.Card.Golden.Fill(s.Row(0))
	alone, err := s.Run(1)
	if err != nil {
		t.Fatal(err)
	}
	m.Card.Golden.Output = float64(alone[0])
	if found, ok := errors.AsType[*GoldenError](Golden(s, m.Card)); !ok || found.Batch != 4 {
		t.Errorf("a graph that mixes rows: %v, want an error in the batch of 4", found)
	}
}

func TestCloseIsIdempotentAndEndsRuns(t *testing.T) {
	env := openEnvironment(t, nil)
	s := newTestSession(t, env, bytesModel(t), 2)
	row := s.Row(0).U8
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Run(1); !errors.Is(err, ErrClosed) {
		t.Errorf("run after Close gave %v, want ErrClosed", err)
	}
	row[0] = 1 // A row that was handed out outlives the session.
}

// TestCloseDuringRuns closes sessions and the environment while others run:
// nothing may be destroyed under a run.
func TestCloseDuringRuns(t *testing.T) {
	env := openEnvironment(t, func(o *Options) { o.Sessions = 4 })
	sessions, err := env.NewSessions(bytesModel(t), 8)
	if err != nil {
		t.Fatal(err)
	}
	if len(sessions) != 4 {
		t.Fatalf("%d sessions, want 4", len(sessions))
	}
	var ended, started sync.WaitGroup
	for _, s := range sessions {
		started.Add(1)
		ended.Go(func() {
			_, err := s.Run(8)
			started.Done()
			for err == nil {
				_, err = s.Run(8)
			}
			if !errors.Is(err, ErrClosed) {
				t.Errorf("run gave %v, want ErrClosed", err)
			}
		})
	}
	started.Wait()
	ended.Go(func() {
		if err := sessions[0].Close(); err != nil {
			t.Error(err)
		}
	})
	if err := env.Close(); err != nil {
		t.Error(err)
	}
	ended.Wait()
}

// TestSessionsGiveTheirMemoryBack makes and closes sessions. One that is not
// destroyed leaves 130 KiB, so 200 would leave three times what is allowed; the
// heap needs the first cycles to reach its size.
func TestSessionsGiveTheirMemoryBack(t *testing.T) {
	env := openEnvironment(t, nil)
	cycle := func(times int) {
		for range times {
			s, err := env.NewSession(bytesModel(t), 64)
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				if _, err := s.Run(64); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cycle(250)
	before := resident(t)
	cycle(200)
	if grown := resident(t) - before; grown > 8<<20 {
		t.Errorf("200 sessions left %d KiB behind", grown>>10)
	}
}

// resident is the process's resident memory in bytes.
func resident(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc here")
	}
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// BenchmarkRun is what the service pays for a row without any scheduling: on a
// graph of almost nothing, and on the models that are built in.
func BenchmarkRun(b *testing.B) {
	env := openEnvironment(b, func(o *Options) { o.IntraOpThreads = 0 })
	builtin, err := models.Builtin()
	if err != nil {
		b.Fatal(err)
	}
	for _, model := range append(models.Whole(builtin), bytesModel(b)) {
		benchmarkRun(b, newTestSession(b, env, model, 16))
	}
}

func benchmarkRun(b *testing.B, s *Session) {
	b.Helper()
	for _, n := range s.Sizes() {
		b.Run(fmt.Sprintf("model=%s/rows=%d", s.model, n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Run(n); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row")
		})
	}
}
