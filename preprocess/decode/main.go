package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"deepfaked/internal/sandbox"
	"deepfaked/preprocess"
)

// Main is the life of a decoder child: it decodes the files that come over the
// inherited socket, one at a time, until the server closes it. It returns an
// error when the child is unfit to go on; the process is to end after it either
// way.
func Main() error {
	if err := sandbox.Enter(); err != nil {
		return fmt.Errorf("enter the sandbox: %w", err)
	}
	conn, err := sandbox.Inherited()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	prepared.Do(prepare)
	return serve(conn, decodeFile)
}

// decoder fills an arena with what a file holds.
type decoder func(src Source, out *Arena) (Found, error)

// decodeFile chooses the decoder of a format.
func decodeFile(src Source, out *Arena) (Found, error) {
	switch {
	case src.Format.Kind() == preprocess.Image:
		return decodeImage(src, out)
	case src.Format == preprocess.WAV:
		return decodeWAV(src, out)
	default:
		return decodeContainer(src, out)
	}
}

// File fills out with what a file holds, in this process, as a child does. It
// is there to be measured: the server leaves files to children. It is safe for
// concurrent use with arenas of their own.
func File(src Source, out *Arena) (Found, error) {
	prepared.Do(prepare)
	return decodeFile(src, out)
}

// prepared sets the libraries up before the first file.
var prepared sync.Once

// serve greets the server, then answers its requests.
func serve(conn *sandbox.Conn, decode decoder) error {
	if err := send(conn, preprocess.DecodeReply{}); err != nil {
		return err
	}
	begin := sync.OnceValue(func() error {
		boundHeap()
		return sandbox.Shield()
	})
	for {
		message, files, err := conn.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := begin(); err != nil {
			return err
		}
		reply := answer(message, files, decode, func(r preprocess.DecodeReply) error { return send(conn, r) })
		sandbox.CloseAll(files)
		if err := send(conn, reply); err != nil {
			return err
		}
		if reply.Leaving {
			return errors.New(reply.Cause)
		}
		relieve()
	}
}

// answer decodes one file, and tells early of windows that are done. Whatever goes
// wrong is in the reply.
func answer(message []byte, files []*os.File, decode decoder, early func(preprocess.DecodeReply) error) preprocess.DecodeReply {
	var req preprocess.DecodeRequest
	if err := json.Unmarshal(message, &req); err != nil {
		return preprocess.DecodeReply{Cause: "decode the request: " + err.Error(), Leaving: true}
	}
	reply := fulfil(req, files, decode, func(w preprocess.WindowRef) error {
		return early(preprocess.DecodeReply{ID: req.ID, Early: true, Windows: []preprocess.WindowRef{w}})
	})
	reply.ID = req.ID
	return reply
}

// fulfil decodes the file of one request.
func fulfil(req preprocess.DecodeRequest, files []*os.File, decode decoder, done func(preprocess.WindowRef) error) preprocess.DecodeReply {
	if len(files) != 2 {
		return preprocess.DecodeReply{Cause: fmt.Sprintf("%d descriptors", len(files)), Leaving: true}
	}
	src := Source{File: files[0], Size: req.Size, Format: req.Format, Limits: req.Limits}
	arena := NewArena(files[1], req.Output)
	arena.tell = done
	found, err, leaving := protected(decode, src, arena)
	if closeErr := arena.Close(); err == nil && closeErr != nil {
		err, leaving = fmt.Errorf("unmap the output: %w", closeErr), true
	}
	if err != nil {
		return failure(err, leaving || isMemory(err))
	}
	format := found.Format
	if format == "" {
		format = string(src.Format)
	}
	return preprocess.DecodeReply{
		Kind: found.Kind, Format: format, Width: found.Width, Height: found.Height,
		Duration: found.Duration, Notes: found.Notes, Frames: arena.Frames(), Stretches: arena.Stretches(), Windows: arena.Windows(),
	}
}

// protected turns a panic into an error; the child is not used again after one.
func protected(decode decoder, src Source, arena *Arena) (found Found, err error, leaving bool) { //nolint:revive // not last
	defer func() {
		if p := recover(); p != nil {
			err, leaving = fmt.Errorf("panic: %v\n%s", p, debug.Stack()), true
		}
	}()
	found, err = decode(src, arena)
	return found, err, false
}

// isMemory says whether something failed for want of memory. What OpenCV and TurboJPEG had no memory for they tell
// in words alone. The file is not to blame for damage then, and another child has a try.
func isMemory(err error) bool {
	return errors.Is(err, unix.ENOMEM) || err != nil && strings.Contains(err.Error(), "Insufficient memory")
}

// failure is the reply to a file that cannot be decoded.
func failure(err error, leaving bool) preprocess.DecodeReply {
	reply := preprocess.DecodeReply{Cause: err.Error(), Leaving: leaving, Full: errors.Is(err, preprocess.ErrOutputFull)}
	if fault, ok := errors.AsType[*preprocess.Error](err); ok {
		reply.Code, reply.Message, reply.Cause = fault.Code, fault.Message, ""
		if fault.Err != nil {
			reply.Cause = fault.Err.Error()
		}
	}
	reply.Cause = reply.Cause[:min(len(reply.Cause), maxCause)]
	return reply
}

// maxCause bounds what goes into a reply for the log.
const maxCause = 2048

// send sends a reply.
func send(conn *sandbox.Conn, reply preprocess.DecodeReply) error {
	message, err := json.Marshal(reply)
	if err != nil {
		return fmt.Errorf("encode the reply: %w", err)
	}
	return conn.Send(message)
}

// heldAtMost is how much memory of Go's a child keeps for its next file.
const heldAtMost = 256 << 20

// relieve gives back what a large file took. A child that waits collects no garbage, and
// each of them would keep the memory of the largest file it ever had, gigabytes at worst.
// To look takes microseconds.
func relieve() {
	if held() > heldAtMost {
		debug.FreeOSMemory()
	}
}

// held is how much memory of the system Go's heap has, in use or not.
func held() uint64 {
	parts := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(parts)
	total := uint64(0)
	for _, p := range parts {
		total += p.Value.Uint64()
	}
	return total
}

// boundHeap makes the collector work harder before the address space runs out.
// It waits for the first file: the server sets the limit while the child starts.
func boundHeap() {
	var space unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &space) == nil && space.Cur < 1<<40 {
		debug.SetMemoryLimit(int64(space.Cur / 2))
	}
}
