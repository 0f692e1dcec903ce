package ort

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"deepfaked/models"
)

// Tests that load the library don't run in parallel: a process can hold only
// one environment.

// openEnvironment loads the real library, or skips when there is none. On a
// machine with a GPU DEEPFAKED_TEST_PROVIDER has tests run there.
func openEnvironment(t testing.TB, edit func(*Options)) *Environment {
	t.Helper()
	opts := Options{Provider: CPU, IntraOpThreads: 1, Logger: slog.New(slog.DiscardHandler)}
	opts.Library = os.Getenv("DEEPFAKED_ONNXRUNTIME")
	if provider := os.Getenv("DEEPFAKED_TEST_PROVIDER"); provider != "" {
		opts.Provider = Provider(provider)
	}
	if edit != nil {
		edit(&opts)
	}
	env, err := Open(opts)
	if errors.Is(err, ErrNoLibrary) && opts.Library == "" {
		t.Skipf("%v (DEEPFAKED_ONNXRUNTIME names another copy)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	})
	return env
}

// bytesModel gives 8*(mean/255-0.5) of 48 bytes.
func bytesModel(t testing.TB) *models.Model {
	t.Helper()
	return model(t, "bytes", models.Tensor{Name: "x", Type: "uint8", Shape: []int64{-1, 4, 4, 3}},
		models.Tensor{Name: "y", Type: "float32", Shape: []int64{-1, 1}})
}

// halfModel gives what bytesModel does, in half precision.
func halfModel(t testing.TB) *models.Model {
	t.Helper()
	half := bytesModel(t)
	half.ONNX, half.Precision = onnx(t, "half"), models.FP16
	return half
}

// mixedModel gives what bytesModel does, in 8 bits of a scale that all rows share.
func mixedModel(t testing.TB) *models.Model {
	t.Helper()
	mixed := bytesModel(t)
	mixed.ONNX = onnx(t, "mixed")
	return mixed
}

// productsModel gives what bytesModel does, by sums of products of bytes.
func productsModel(t testing.TB) *models.Model {
	t.Helper()
	products := bytesModel(t)
	products.ONNX = onnx(t, "products")
	return products
}

// floatsModel gives 3*mean+0.25 of 16 numbers.
func floatsModel(t testing.TB) *models.Model {
	t.Helper()
	return model(t, "floats", models.Tensor{Name: "x", Type: "float32", Shape: []int64{-1, 16}},
		models.Tensor{Name: "y", Type: "float32", Shape: []int64{-1}})
}

// wideModel gives its 48 bytes back as 16 times three numbers.
func wideModel(t testing.TB) *models.Model {
	t.Helper()
	return model(t, "wide", models.Tensor{Name: "x", Type: "uint8", Shape: []int64{-1, 4, 4, 3}},
		models.Tensor{Name: "y", Type: "float32", Shape: []int64{-1, 16, 3}})
}

func model(t testing.TB, name string, input, output models.Tensor) *models.Model {
	t.Helper()
	card := models.Card{Name: name, Input: input, Output: output}
	return &models.Model{Card: card, ONNX: onnx(t, name)}
}

func onnx(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".onnx"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func newTestSession(t testing.TB, env *Environment, model *models.Model, maxBatch int) *Session {
	t.Helper()
	s, err := env.NewSession(model, maxBatch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// fill gives row i of a batch a content of its own, by seed.
func fill(row models.Row, seed int) {
	for j := range row.U8 {
		row.U8[j] = byte((seed*37 + j*11) % 256)
	}
	for j := range row.F32 {
		row.F32[j] = float32((seed*37+j*11)%256)/128 - 1
	}
}

// want is what the test graphs compute, in float64 and without the library.
func want(row models.Row) float64 {
	sum := 0.0
	for _, v := range row.U8 {
		sum += float64(v)
	}
	if row.U8 != nil {
		return 8 * (sum/float64(len(row.U8))/255 - 0.5)
	}
	for _, v := range row.F32 {
		sum += float64(v)
	}
	return 3*sum/float64(len(row.F32)) + 0.25
}
