package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"deepfaked/preprocess"
	"deepfaked/preprocess/decode"
)

// sniffed is how much of a file is looked at to recognise it.
const sniffed = 4 << 10

// media is what a file holds.
type media struct {
	frames  []preprocess.Frame
	windows [][]float32
}

// decoded decodes a file in this process, by the service's own decoder.
func decoded(content []byte) (m media, err error) {
	format, known := preprocess.Sniff(content[:min(len(content), sniffed)])
	if !known {
		return m, errors.New("the file is not known")
	}
	in, err := memory("file")
	if err != nil {
		return m, err
	}
	defer func() { _ = in.Close() }()
	if _, err := in.WriteAt(content, 0); err != nil {
		return m, err
	}
	out, err := memory("output")
	if err != nil {
		return m, err
	}
	defer func() { _ = out.Close() }()
	limits := preprocess.DefaultLimits()
	arena := decode.NewArena(out, limits.OutputBytes())
	_, err = decode.File(decode.Source{File: in, Size: int64(len(content)), Format: format, Limits: limits}, arena)
	if err := errors.Join(err, arena.Close()); err != nil {
		return m, err
	}
	return m, m.read(out, arena)
}

// memory is a file without a name.
func memory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (m *media) read(out io.ReaderAt, arena *decode.Arena) error {
	for _, f := range arena.Frames() {
		pix := make([]byte, f.Width*f.Height*3)
		if _, err := out.ReadAt(pix, f.Offset); err != nil {
			return err
		}
		m.frames = append(m.frames, preprocess.Frame{Pix: pix, Width: f.Width, Height: f.Height})
	}
	for _, w := range arena.Windows() {
		raw := make([]byte, preprocess.SampleBytes*w.Samples)
		if _, err := out.ReadAt(raw, w.Offset); err != nil {
			return err
		}
		samples := make([]float32, w.Samples)
		for i := range samples {
			samples[i] = float32(int16(binary.NativeEndian.Uint16(raw[preprocess.SampleBytes*i:]))) / (1 << 15) //nolint:gosec // as decode wrote them
		}
		m.windows = append(m.windows, samples)
	}
	return nil
}
