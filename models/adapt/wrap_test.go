package adapt

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"deepfaked/inference/ort"
	"deepfaked/models"
)

const side = 8

// published is a graph of the signature that published picture models have:
// the weighted sum of the channels' means, with a dimension open for the batch.
func published(shape ...int64) []byte {
	var g []byte
	g = message(g, graphNode, node("GlobalAveragePool", []string{"pixel_values"}, "pooled", nil))
	g = message(g, graphNode, node("Flatten", []string{"pooled"}, "flat", nil))
	g = message(g, graphNode, node("Mul", []string{"flat", "weights"}, "weighted", nil))
	g = message(g, graphNode, node("ReduceMean", []string{"weighted"}, "logits", number(number(message([]byte(nil), 1, "axes"), 8, 1), 20, 7)))
	g = message(g, 2, "published")
	g = message(g, graphInitializer, vector("weights", []float32{3, -2, 1}))
	g = message(g, graphInput, value("pixel_values", typeFloat, -1, 3, side, side))
	g = message(g, graphOutput, value("logits", typeFloat, shape...))
	opset := number(message([]byte(nil), 1, ""), 2, 17)
	return message(message(number(nil, 1, 8), 8, opset), modelGraph, g)
}

func spec() Spec { return Spec{Side: side, Mean: [3]float64{.5, .4, .3}, Std: [3]float64{.2, .25, .3}} }

// want is the output of published, worked out without any library.
func want(pixels []byte) float64 {
	s, sum := spec(), 0.0
	for i, p := range pixels {
		c := i % 3
		sum += []float64{3, -2, 1}[c] * (float64(p)/255 - s.Mean[c]) / s.Std[c]
	}
	return sum / float64(len(pixels))
}

// TestWrappedGraphAgrees: ONNX Runtime computes of bytes what the published
// graph computes of the normalised picture, alone and in a batch.
func TestWrappedGraphAgrees(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	wrapped, input, output, err := Wrap(published(-1, 1), spec())
	if err != nil {
		t.Fatal(err)
	}
	opts := ort.Options{Provider: ort.CPU, IntraOpThreads: 1, Logger: slog.New(slog.DiscardHandler), Library: os.Getenv("DEEPFAKED_ONNXRUNTIME")}
	env, err := ort.Open(opts)
	if errors.Is(err, ort.ErrNoLibrary) && opts.Library == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close()
	s, err := env.NewSession(&models.Model{Card: models.Card{Name: "wrapped", Input: input, Output: output}, ONNX: wrapped}, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, n := range []int{1, 4} {
		for i := range n {
			for j := range s.Row(i).U8 {
				s.Row(i).U8[j] = byte(j*7 + i*31 + n)
			}
		}
		logits, err := s.Run(n)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range logits {
			if w := want(s.Row(i).U8); math.Abs(float64(got)-w) > 1e-4 {
				t.Errorf("row %d of %d gave %g, want %g", i, n, got, w)
			}
		}
	}
}

func TestWrapReadsTheOutput(t *testing.T) {
	t.Parallel()
	for _, shape := range [][]int64{{-1}, {-1, 1}} {
		_, input, output, err := Wrap(published(shape...), spec())
		if err != nil || output.Name != "logits" || !slices.Equal(output.Shape, shape) {
			t.Errorf("%v: %v, %v", shape, output, err)
		}
		if !slices.Equal(input.Shape, []int64{-1, side, side, 3}) || input.Type != "uint8" || input.Name != Input {
			t.Errorf("input is %v", input)
		}
	}
}

func TestWrapRefuses(t *testing.T) {
	t.Parallel()
	whole := published(-1, 1)
	fields, err := split(whole)
	if err != nil {
		t.Fatal(err)
	}
	graph := fields[len(fields)-1].body
	with := func(more []byte) []byte { return message([]byte(nil), modelGraph, slices.Concat(graph, more)) }
	for name, test := range map[string]struct {
		onnx []byte
		spec Spec
		say  string
	}{
		"nothing":     {nil, spec(), "no ONNX model"},
		"text":        {[]byte("not a graph"), spec(), "no ONNX model"},
		"cut":         {whole[:len(whole)-9], spec(), "no ONNX model"},
		"two inputs":  {with(message([]byte(nil), graphInput, value("mask", typeFloat, -1))), spec(), "2 inputs"},
		"two outputs": {with(message([]byte(nil), graphOutput, value("mask", typeFloat, -1))), spec(), "2 outputs"},
		"no side":     {whole, Spec{Std: [3]float64{1, 1, 1}}, "side"},
		"no std":      {whole, Spec{Side: 8}, "std"},
	} {
		if _, _, _, err := Wrap(test.onnx, test.spec); err == nil || !strings.Contains(err.Error(), test.say) {
			t.Errorf("%s: %v, want %q", name, err, test.say)
		}
	}
}

// FuzzWrap holds that no bytes make Wrap panic, and that what it accepts it can
// read again.
func FuzzWrap(f *testing.F) {
	f.Add(published(-1, 1))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 20))
	f.Fuzz(func(t *testing.T, data []byte) {
		wrapped, _, _, err := Wrap(data, spec())
		if err != nil {
			return
		}
		if _, err := split(wrapped); err != nil {
			t.Errorf("what came out can't be read: %v", err)
		}
	})
}
