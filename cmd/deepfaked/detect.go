package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"deepfaked/inference"
	"deepfaked/internal/config"
	"deepfaked/preprocess"
)

type detectCommand struct {
	configFlags
	dataFlag
	engineFlags
	JSON        bool     `name:"json" env:"DEEPFAKED_JSON" help:"Print a line of JSON for each file (default: a table)."`
	Sensitivity string   `env:"DEEPFAKED_SENSITIVITY" default:"balanced" enum:"strict,balanced,sensitive" placeholder:"LEVEL" help:"strict (fewer false positives), balanced or sensitive (fewer false negatives) (default: balanced)."`
	Files       []string `arg:"" name:"file" help:"Images, sounds and videos."`
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
}

func (c *detectCommand) run(ctx context.Context, to streams) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, err := settings(c.configFlags, c.dataFlag, c.engineFlags)
	if err != nil {
		return err
	}
	cfg.Upload.Size = max(cfg.Upload.Size, config.Size(largest(c.Files))) // nothing else bounds files of one's own
	e, err := openEngine(ctx, cfg, slog.New(slog.DiscardHandler))
	switch {
	case ctx.Err() != nil && e == nil:
		return errInterrupted
	case err != nil:
		return err
	}
	defer func() { _ = e.Close() }()
	results, failed, err := c.judgeAll(ctx, e.detector, 2*children(cfg), to)
	if err != nil {
		return err
	}
	if !c.JSON {
		if err := printTable(to.out, results); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case failed > 0:
		return errQuiet
	}
	return nil
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

// judgeAll judges the files side by side and hands the results on in the order
// of the command line.
func (c *detectCommand) judgeAll(ctx context.Context, d *inference.Detector, parallel int, to streams) (results []judged, failed int, err error) {
	bar := progress(to.err, len(c.Files), c.JSON)
	pending := make([]chan judged, len(c.Files))
	slots := make(chan struct{}, parallel)
	for i := range pending {
		pending[i] = make(chan judged, 1)
	}
	go func() {
		for i, name := range c.Files {
			slots <- struct{}{}
			go func() {
				pending[i] <- c.judge(ctx, d, name)
				<-slots
			}()
		}
	}()
	encoder := json.NewEncoder(to.out)
	for _, p := range pending {
		r := <-p
		_ = bar.Add(1)
		if r.Error != "" {
			failed++
		}
		if c.JSON {
			err = errors.Join(err, encoder.Encode(r))
		}
		results = append(results, r)
	}
	_ = bar.Finish()
	return results, failed, err
}

func (c *detectCommand) judge(ctx context.Context, d *inference.Detector, name string) judged {
	result, err := c.open(ctx, d, name)
	if err != nil {
		return failure(name, err)
	}
	return judged{
		File: name, Verdict: result.Verdict, Confidence: &result.Confidence, Kind: result.Kind, Report: &result.Report,
	}
}

func (c *detectCommand) open(ctx context.Context, d *inference.Detector, name string) (inference.Result, error) {
	f, err := os.Open(name)
	if err != nil {
		return inference.Result{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return inference.Result{}, err
	}
	if !info.Mode().IsRegular() {
		return inference.Result{}, errNotRegular
	}
	return d.Detect(ctx, inference.Request{
		File: f, Size: info.Size(), Sensitivity: inference.Sensitivity(c.Sensitivity),
	})
}

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
	case errors.Is(err, errNotRegular):
		out.Error, out.Message = "unreadable_file", "The file is not a regular file."
	case errors.As(err, &path):
		out.Error, out.Message = "unreadable_file", fmt.Sprintf("The file cannot be read: %v.", path.Err)
	}
	return out
}

var (
	errNotRegular  = errors.New("not a regular file")
	errInterrupted = errors.New("interrupted")
)

func printTable(w io.Writer, results []judged) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "FILE\tVERDICT\tCONFIDENCE\tTYPE\tREMARK")
	for _, r := range results {
		if r.Error != "" {
			_, _ = fmt.Fprintf(table, "%s\t-\t-\t-\t%s\n", r.File, r.Message)
			continue
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%.3f\t%s\t\n", r.File, r.Verdict, *r.Confidence, r.Kind)
	}
	return table.Flush()
}

// progress shows a bar where a person can see it.
func progress(w io.Writer, files int, quiet bool) *progressbar.ProgressBar {
	f, ok := w.(*os.File)
	if quiet || !ok || !term.IsTerminal(int(f.Fd())) {
		return progressbar.DefaultSilent(int64(files))
	}
	return progressbar.NewOptions(files, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("judging"),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
}
