package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"deepfaked/inference"
	"deepfaked/internal/config"
	"deepfaked/preprocess"
)

// jury judges files without a server.
type jury struct {
	*engine

	parallel    int
	sensitivity inference.Sensitivity // empty: balanced
	reports     *reports              // nil: none are written
}

// judged is what came of one file.
type judged struct {
	File       string            `json:"file"`
	Verdict    inference.Verdict `json:"verdict,omitempty"`
	Confidence *float64          `json:"confidence,omitempty"`
	Kind       preprocess.Kind   `json:"media_type,omitempty"`
	Report     *inference.Report `json:"report,omitempty"`
	Error      string            `json:"error,omitempty"` // code of the contract, unreadable_file or interrupted
	Message    string            `json:"message,omitempty"`

	decisions    map[inference.Sensitivity]inference.Decision
	begun, ended time.Time
	size         int64
	sha256       string // empty where no reports are written
}

// inNoHurry is how long a file may wait for its turn: all are judged, and nobody is to
// come back later.
const inNoHurry = 365 * 24 * time.Hour

// openJury starts everything that judges files of one's own. The caller closes it.
func openJury(ctx context.Context, cfg config.Config, names []string) (*jury, error) {
	cfg.Upload.Size = max(cfg.Upload.Size, config.Size(largest(names))) // nothing else bounds them
	cfg.Inference.Wait, cfg.Inference.Burst = inNoHurry, inNoHurry
	e, err := openEngine(ctx, cfg, slog.New(slog.DiscardHandler), care{})
	switch {
	case ctx.Err() != nil && e == nil:
		return nil, errInterrupted
	case err != nil:
		return nil, err
	}
	return &jury{engine: e, parallel: e.parallel}, nil
}

// largest is the size of the largest file; those that can't be read don't count.
func largest(names []string) (size int64) {
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			size = max(size, info.Size())
		}
	}
	return size
}

// judge judges the files side by side and hands the results on, one after the
// other, in the order of the names.
func (j *jury) judge(ctx context.Context, names []string, each func(judged)) {
	pending := make([]chan judged, len(names))
	slots := make(chan struct{}, j.parallel)
	for i := range pending {
		pending[i] = make(chan judged, 1)
	}
	go func() {
		for i, name := range names {
			slots <- struct{}{}
			go func() {
				pending[i] <- j.one(ctx, name)
				<-slots
			}()
		}
	}()
	for _, p := range pending {
		each(<-p)
	}
}

func (j *jury) one(ctx context.Context, name string) judged {
	out := judged{File: name, begun: time.Now()}
	result, err := j.open(ctx, &out)
	if err != nil {
		return failure(name, err)
	}
	out.Verdict, out.Confidence, out.Kind, out.Report = result.Verdict, &result.Confidence, result.Kind, &result.Report
	out.decisions, out.ended = result.Decisions, time.Now()
	return out
}

// open judges the file that is named, and notes which it is.
func (j *jury) open(ctx context.Context, out *judged) (inference.Result, error) {
	info, err := os.Stat(out.File)
	if err != nil {
		return inference.Result{}, err
	}
	if info.IsDir() {
		return inference.Result{}, errFolder
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for who writes to it
		return inference.Result{}, errNotRegular
	}
	f, err := os.Open(out.File)
	if err != nil {
		return inference.Result{}, err
	}
	defer func() { _ = f.Close() }()
	out.size = info.Size()
	if j.reports != nil {
		sum := sha256.New()
		if _, err := io.Copy(sum, io.NewSectionReader(f, 0, out.size)); err != nil {
			return inference.Result{}, err
		}
		out.sha256 = hex.EncodeToString(sum.Sum(nil))
	}
	return j.detector.Detect(ctx, inference.Request{File: opened{f}, Size: out.size, Sensitivity: j.sensitivity})
}

// opened is a file that is open already, at its start.
type opened struct{ *os.File }

// Rewind implements inference.File.
func (o opened) Rewind() (*os.File, error) { return o.File, nil }

// failure names the fault by the contract's code where the file is at fault.
func failure(name string, err error) judged {
	out := judged{File: name, Error: "internal_error", Message: err.Error()}
	var fault *preprocess.Error
	var path *fs.PathError
	switch {
	case errors.As(err, &fault):
		out.Error, out.Message = string(fault.Code), fault.Message
	case errors.Is(err, context.Canceled):
		out.Error, out.Message = "interrupted", "The judgement was interrupted."
	case errors.Is(err, errFolder):
		out.Error, out.Message = "unreadable_file", "This is a folder: name the files in it."
	case errors.Is(err, errNotRegular):
		out.Error, out.Message = "unreadable_file", "The file is not a regular file."
	case errors.As(err, &path):
		out.Error, out.Message = "unreadable_file", fmt.Sprintf("The file cannot be read: %v.", path.Err)
	}
	return out
}

var (
	errFolder      = errors.New("a folder")
	errNotRegular  = errors.New("not a regular file")
	errInterrupted = errors.New("interrupted")
)

// progress shows a bar where a person can see it.
func progress(w io.Writer, files int, quiet bool) *progressbar.ProgressBar {
	f, ok := w.(*os.File)
	if quiet || !ok || !term.IsTerminal(int(f.Fd())) {
		return progressbar.DefaultSilent(int64(files))
	}
	return progressbar.NewOptions(files, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("judging"),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
}
