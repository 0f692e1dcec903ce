package preprocess

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"deepfaked/internal/sandbox"
)

// PoolOptions bounds the decoder children.
type PoolOptions struct {
	Limits      Limits
	Children    int                 // that lengthy files have at a time at most; one more runs, for the others
	Command     []string            // starts a child, by path: normally our own binary and "decode"
	Env         []string            // the whole environment of a child, but for the sandbox's own, "name=value"
	Confinement sandbox.Confinement // of the children
	Timeout     time.Duration       // wall clock of one file
	Start       time.Duration       // wall clock until a new child is ready
	MemoryBytes uint64              // of a child's address space, libraries included
	CPUSeconds  uint64              // of processor time for one file
	CPUShare    float64             // of a core; a child that was late with less is no verdict on its file
	OutputBytes int64               // of pixels and samples of one file
	UploadBytes int64               // of the largest file to expect
	Recycle     int                 // files until a child is replaced
	Logger      *slog.Logger
	Observer    Observer // may be nil
}

// DefaultPoolOptions fit the default limits: libraries take 2 GiB of address
// space, and of pictures of 64 megapixels AVIF 4.3 GiB of memory and HEIC of 10
// bits 3.5; all other formats stay below 2 GiB, where nothing is left of an earlier
// picture. Command is left to the caller.
func DefaultPoolOptions() PoolOptions {
	return PoolOptions{
		Limits: DefaultLimits(), Children: 2, Confinement: sandbox.Confined,
		Env:     []string{"OPENCV_LOG_LEVEL=SILENT", "GOMAXPROCS=1", "GOGC=400"},
		Timeout: time.Minute, Start: 30 * time.Second,
		MemoryBytes: 8 << 30, CPUSeconds: 60, CPUShare: 0.5, OutputBytes: 144 << 20, UploadBytes: 100 << 20, Recycle: 4000,
		Logger: slog.New(slog.NewJSONHandler(os.Stderr, nil)),
	}
}

// processes is how many children run. One of them at least has no lengthy file, or those that
// are done in a moment would wait for the end of films.
func (o PoolOptions) processes() int { return o.Children + 1 }

// Validate names the first field that makes no sense.
func (o PoolOptions) Validate() error {
	switch {
	case o.Children < 1 || o.Children > 1024:
		return errors.New("decoder: children must be between 1 and 1024")
	case o.Timeout <= 0:
		return errors.New("decoder: timeout must be positive")
	case o.Start <= 0:
		return errors.New("decoder: start must be positive")
	case o.CPUSeconds < 1:
		return errors.New("decoder: CPU seconds must be at least 1")
	case !(o.CPUShare >= 0 && o.CPUShare <= 1):
		return errors.New("decoder: CPU share must be between 0 and 1")
	case o.OutputBytes < 1<<20:
		return errors.New("decoder: output bytes must be at least 1 MiB")
	case o.UploadBytes < 1:
		return errors.New("decoder: upload bytes must be at least 1")
	case o.Recycle < 1:
		return errors.New("decoder: recycle must be at least 1 file")
	case o.Logger == nil:
		return errors.New("decoder: logger must be set")
	}
	return errors.Join(o.Limits.Validate(), o.sandbox().Validate())
}

// childFiles is how many descriptors a child may have open.
const childFiles = 64

// clipBytes is what a child's own file in memory, into which it copies the part
// of a video that it decodes, has beyond that part and a picture of it.
const clipBytes = 32 << 20

// packedWidth is how many times its width OpenCV is told of a picture at most: rows of four inks of 16 bits and one more
// sample in a TIFF file are rows of bytes to it, ten times as many. That the picture itself keeps the limit is seen to before.
const packedWidth = 10

// sandbox is what one child is given. Its processor time bounds its whole life;
// that of a file is set file by file.
func (o PoolOptions) sandbox() sandbox.Options {
	env := append([]string{fmt.Sprintf("OPENCV_IO_MAX_IMAGE_PIXELS=%d", packedWidth*o.Limits.Pixels)}, o.Env...)
	return sandbox.Options{
		Command: o.Command, Env: env, MemoryBytes: o.MemoryBytes,
		FileBytes:  uint64(max(o.OutputBytes, 2*o.UploadBytes+clipBytes, 0)),
		CPUSeconds: (o.CPUSeconds+2)*uint64(max(o.Recycle, 0)) + 10,
		Files:      childFiles,
	}
}
