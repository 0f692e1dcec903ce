package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"deepfaked/preprocess"
)

// answerWith answers one request with a decoder that does what decode does.
func answerWith(t *testing.T, decode decoder) preprocess.DecodeReply {
	t.Helper()
	message, err := json.Marshal(preprocess.DecodeRequest{
		Format: preprocess.PNG, Size: 1, Output: 1 << 20, Limits: preprocess.DefaultLimits(),
	})
	if err != nil {
		t.Fatal(err)
	}
	var files []*os.File
	for range 2 {
		fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "test")
		defer func() { _ = f.Close() }()
		files = append(files, f)
	}
	return answer(message, files, decode, nil)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	tooLong := &preprocess.Error{Code: preprocess.PayloadTooLarge, Message: "It is too long.", Err: errors.New("31m")}
	for name, test := range map[string]struct {
		err     error
		code    preprocess.Code
		cause   string
		leaving bool
	}{
		"damage":  {err: errors.New("bad header"), cause: "bad header"},
		"a limit": {err: fmt.Errorf("wrapped: %w", tooLong), code: preprocess.PayloadTooLarge, cause: "31m"},
		"OpenCV's memory": {
			err:   errors.New("OpenCV(4.6.0) alloc.cpp:73: error: (-4:Insufficient memory) Failed to allocate 9 bytes in function 'OutOfMemoryError'"),
			cause: "Insufficient memory", leaving: true,
		},
		"out of memory": {err: fmt.Errorf("map: %w", unix.ENOMEM), cause: "cannot allocate", leaving: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply := answerWith(t, func(Source, *Arena) (Found, error) { return Found{}, test.err })
			if reply.Code != test.code || reply.Leaving != test.leaving || !strings.Contains(reply.Cause, test.cause) {
				t.Fatalf("got %+v", reply)
			}
		})
	}
}

func TestAPanicIsAnswered(t *testing.T) {
	t.Parallel()
	reply := answerWith(t, func(Source, *Arena) (Found, error) { panic("out of bounds") })
	if !reply.Leaving || !strings.Contains(reply.Cause, "out of bounds") || len(reply.Cause) > maxCause {
		t.Fatalf("got %+v", reply)
	}
}

func TestAnAnswerNamesItsPieces(t *testing.T) {
	t.Parallel()
	reply := answerWith(t, func(src Source, out *Arena) (Found, error) {
		if err := out.Frame(make([]byte, 18), 3, 2, 0); err != nil {
			return Found{}, err
		}
		offset, err := out.Sound(7)
		out.Window(offset, 7, 1e9)
		return Found{Kind: preprocess.Video, Width: 30, Height: 20}, err
	})
	if reply.Format != "PNG" || reply.Kind != preprocess.Video || reply.Width != 30 || reply.Cause != "" ||
		len(reply.Frames) != 1 || len(reply.Windows) != 1 || reply.Windows[0].Offset == 0 {
		t.Fatalf("got %+v", reply)
	}
}

func TestRubbishIsAnswered(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"", "{", `{"size":1}`} {
		if reply := answer([]byte(message), nil, decodeFile, nil); !reply.Leaving || reply.Cause == "" {
			t.Errorf("%q is answered with %+v", message, reply)
		}
	}
}

// TestAChildIsRelieved: a child kept the memory of the largest picture that it had decoded
// for as long as it lived, 3.3 GB after a HEIC file of 28 kB.
func TestAChildIsRelieved(t *testing.T) { // alone: what tests beside it hold would count
	func() {
		picture := make([]byte, 2*heldAtMost)
		if held() <= heldAtMost {
			t.Fatalf("%d bytes are held", held())
		}
		runtime.KeepAlive(picture)
	}()
	if relieve(); held() > heldAtMost {
		t.Errorf("%d bytes are held with nothing in use", held())
	}
}

// BenchmarkRelieve is what each small file pays.
func BenchmarkRelieve(b *testing.B) {
	for b.Loop() {
		relieve()
	}
}
