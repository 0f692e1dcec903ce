package ort

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"deepfaked/models"
)

// fakeRuntime says what it is asked, and refuses to lock where it is told to.
const fakeRuntime = `
#include <stdio.h>
#include <stdlib.h>
static void say(const char *what, void *memory, long number) {
	FILE *f = fopen(getenv("FAKE_CUDA"), "a");
	fprintf(f, "%s %p %ld\n", what, memory, number);
	fclose(f);
}
int cudaSetDevice(int device) { say("device", 0, device); return 0; }
int cudaHostRegister(void *memory, size_t bytes, unsigned flags) { say("lock", memory, bytes); return getenv("FAKE_CUDA_REFUSES") ? 712 : flags != 1; }
int cudaHostUnregister(void *memory) { say("unlock", memory, 0); return getenv("FAKE_CUDA_REFUSES") ? 713 : 0; }
int cudaGetLastError(void) { say("error", 0, 0); return 712; }
`

// TestPagesAreLocked: a GPU read its rows from memory that the processor had to copy first, and
// a batch of 64 for the face detector took twice as long as with locked memory. This
// machine need not have a GPU, so a runtime is built that writes down what it is asked.
func TestPagesAreLocked(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	dir, said := t.TempDir(), func(where string) string {
		text, _ := os.ReadFile(where)
		return string(text)
	}
	const name = "libdeepfakedfakecuda.so.1"
	path, source, notes := filepath.Join(dir, name), filepath.Join(dir, "fake.c"), filepath.Join(dir, "notes")
	if err := os.WriteFile(source, []byte(fakeRuntime), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "gcc", "-shared", "-fPIC", "-Wl,-soname,"+name, "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("FAKE_CUDA", notes)
	before := cudaRuntimes
	t.Cleanup(func() { cudaRuntimes = before })
	cudaRuntimes = []string{name}
	memory := make([]byte, 1<<16)
	if lockPages(1, memory) != nil {
		t.Fatal("a runtime was found that is not loaded")
	}
	stay(path)

	locked := lockPages(1, memory)
	at := fmt.Sprintf("%p", &memory[0])
	if want := "device (nil) 1\nlock " + at + " 65536\n"; locked == nil || said(notes) != want {
		t.Fatalf("%v, and the runtime was asked %q, want %q", locked, said(notes), want)
	}
	locked.unlock()
	if !strings.HasSuffix(said(notes), "device (nil) 1\nunlock "+at+" 0\n") {
		t.Errorf("the runtime was asked %q", said(notes))
	}
	if _, kept := stuck.Load(locked); kept {
		t.Error("memory that was unlocked is kept")
	}

	// A session locks its rows, and gives them back.
	rows, err := newTensors(models.Card{Input: models.Tensor{Type: "float32", Shape: []int64{-1, 3}}, Output: models.Tensor{Shape: []int64{-1, 1}}}, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows.lock(2)
	at = fmt.Sprintf("%p", &rows.f32[0])
	rows.destroy()
	if want := "device (nil) 2\nlock " + at + " 24\ndevice (nil) 2\nunlock " + at + " 0\n"; !strings.HasSuffix(said(notes), want) {
		t.Errorf("the runtime was asked %q, want %q", said(notes), want)
	}

	// The runtime remembers an error for whoever asks next, which would be ONNX Runtime.
	t.Setenv("FAKE_CUDA_REFUSES", "1")
	if lockPages(0, memory) != nil || !strings.HasSuffix(said(notes), "error (nil) 0\n") {
		t.Errorf("what was refused is told as locked, or the error was left behind: %q", said(notes))
	}
	locked.unlock()
	if _, kept := stuck.Load(locked); !kept {
		t.Error("memory that is still locked is given to others")
	}
	lockPages(0, nil).unlock()
}
