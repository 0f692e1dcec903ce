package ort

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deepfaked/models"
)

// borrowedModel gives what bytesModel does, with weights in another file.
func borrowedModel(t testing.TB, folder string) *models.Model {
	t.Helper()
	m := bytesModel(t)
	m.ONNX = onnx(t, "borrowed")
	data, err := os.ReadFile(filepath.Join("testdata", "borrowed.bin"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	m.Card.Name = "borrowed"
	m.Card.Weights = &models.Weights{File: "borrowed.bin", SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data))}
	if err := m.FindWeights(folder); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRunWithWeightsInAnotherFile: ONNX Runtime gets the graph as bytes, and finds the file.
func TestRunWithWeightsInAnotherFile(t *testing.T) {
	env := openEnvironment(t, nil)
	for _, m := range []*models.Model{borrowedModel(t, "testdata"), borrowedModel(t, "testdata").In(models.TF32)} {
		s := newTestSession(t, env, m, 4)
		for n := 1; n <= s.MaxBatch(); n++ {
			checkRun(t, s, n, n*100)
		}
	}
}

// TestWeightsBehindALink: an operator may keep the file elsewhere.
func TestWeightsBehindALink(t *testing.T) {
	env := openEnvironment(t, nil)
	at, err := filepath.Abs(filepath.Join("testdata", "borrowed.bin"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(at, filepath.Join(dir, "borrowed.bin")); err != nil {
		t.Fatal(err)
	}
	checkRun(t, newTestSession(t, env, borrowedModel(t, dir), 1), 1, 3)
}

// TestWeightsOfAnotherFile: no file but the one whose checksum the card names is read.
func TestWeightsOfAnotherFile(t *testing.T) {
	env := openEnvironment(t, nil)
	for field, spoil := range map[string]func(*models.Model){
		"weights.file": func(m *models.Model) { m.Card.Weights = &models.Weights{File: "other.bin"} },
		"file":         func(m *models.Model) { m.Card.Weights = nil },
		"input.name":   func(m *models.Model) { m.Card.Input.Name = "z" },
		"input.shape":  func(m *models.Model) { m.Card.Input.Shape = []int64{-1, 5, 5, 3} },
		"output.name":  func(m *models.Model) { m.Card.Output.Name = "fs" },
		"input.type":   func(m *models.Model) { m.Card.Input.Type = "float32" },
	} {
		m := borrowedModel(t, "testdata")
		spoil(m)
		_, err := env.NewSession(m, 1)
		if graph, ok := errors.AsType[*GraphError](err); !ok || graph.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	m := borrowedModel(t, "testdata")
	m.Weights = ""
	if _, err := env.NewSession(m, 1); err == nil || !strings.Contains(err.Error(), "was not looked for") {
		t.Errorf("weights that nobody looked for: %v", err)
	}
}

// TestDeclaredIsWhatOnnxRuntimeFinds, of graphs that need no other file.
func TestDeclaredIsWhatOnnxRuntimeFinds(t *testing.T) {
	openEnvironment(t, nil)
	for _, name := range []string{"bytes", "fixed", "floats", "half", "mixed", "padded", "products", "two-inputs", "wide"} {
		data := onnx(t, name)
		inputs, outputs, err := signature(data, false)
		if err != nil {
			t.Fatal(err)
		}
		ownInputs, ownOutputs := declared(data)
		if len(inputs) != len(ownInputs) || len(outputs) != len(ownOutputs) {
			t.Fatalf("%s: %v and %v, want %v and %v", name, ownInputs, ownOutputs, inputs, outputs)
		}
		for i := range inputs {
			if got, want := ownInputs[i].String(), inputs[i].String(); got != want {
				t.Errorf("%s: input %s, want %s", name, got, want)
			}
		}
		for i := range outputs {
			if got, want := ownOutputs[i].String(), outputs[i].String(); got != want {
				t.Errorf("%s: output %s, want %s", name, got, want)
			}
		}
	}
}

// FuzzDeclared holds that no bytes make it panic.
func FuzzDeclared(f *testing.F) {
	f.Add(onnx(f, "borrowed"))
	f.Add(onnx(f, "two-inputs"))
	f.Fuzz(func(_ *testing.T, data []byte) { declared(data) })
}
