package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"deepfaked/internal/chart"
	"deepfaked/internal/config"
	"deepfaked/internal/filename"
	"deepfaked/preprocess"
)

type evalCommand struct {
	configFlags
	dataFlag
	engineFlags
	JSON   bool    `name:"json" env:"DEEPFAKED_JSON" help:"Print one JSON object (default: tables)."`
	Plots  string  `env:"DEEPFAKED_PLOTS" placeholder:"DIR" help:"Folder to draw into as PNG files, for each medium: ROC, DET curve, reliability and histogram (default: none)."`
	Prior  *string `name:"prior" hidden:"" help:"Refused with a sentence."`
	Folder string  `arg:"" name:"dir" help:"Folder with genuine files below real/ and fake ones below fake/, at any depth. Folders right below those, such as real/portraits, are kinds, which get figures of their own."`
}

// run measures the detector on files whose truth is known.
func (c *evalCommand) run(ctx context.Context, to streams) error {
	if c.Prior != nil {
		return usageError{errors.New("eval takes no --prior: genuine and fake files weigh the same in what it measures, however many there are of each")}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // a second signal ends the process at once
	cfg, err := settings(c.configFlags, c.dataFlag, c.engineFlags)
	if err != nil {
		return err
	}
	cfg.Prior = config.Default().Prior // both classes weigh the same here, whatever a service expects by its configuration
	files, err := findLabelled(ctx, c.Folder)
	if err != nil {
		return err
	}
	if err := c.makePlots(); err != nil {
		return err
	}
	files.tellLeftOut(to.err)
	j, err := openJury(ctx, cfg, files.names)
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }()
	e := evaluate(ctx, j, files, to)
	if ctx.Err() != nil {
		return errInterrupted // figures of some of the files would be taken for those of all
	}
	if err := errors.Join(c.print(e, to), c.draw(e)); err != nil {
		return err
	}
	return quietly(e.failed)
}

// makePlots makes the folder for plots, and sees that one may write there, before the long wait, not after it.
func (c *evalCommand) makePlots() error {
	if c.Plots == "" {
		return nil
	}
	if err := os.MkdirAll(c.Plots, 0o750); err != nil {
		return usageError{err}
	}
	if err := writable(c.Plots); err != nil {
		return usageError{fmt.Errorf("plots can't be written: %w", err)}
	}
	return nil
}

// evaluate judges all files. It says at once which fail, and why.
func evaluate(ctx context.Context, j *jury, files labelled, to streams) *evaluation {
	e := newEvaluation()
	e.files, e.failed = len(files.closed), len(files.closed) // what is in them can't be told
	bar := progress(to.err, len(files.names), false)
	j.judge(ctx, files.names, func(r judged) {
		if r.Error != "" && ctx.Err() == nil {
			_ = bar.Clear()
			_, _ = fmt.Fprintf(to.err, "deepfaked: %s: %s\n", filename.Shown(r.File), r.Message)
		}
		_ = bar.Add(1)
		e.add(r, files.fake[r.File], files.kind[r.File])
	})
	_ = bar.Finish()
	return e
}

func (c *evalCommand) print(e *evaluation, to streams) error {
	if c.JSON {
		return json.NewEncoder(to.out).Encode(e.report())
	}
	return e.printTables(to.out)
}

func (c *evalCommand) draw(e *evaluation) error {
	if c.Plots == "" {
		return nil
	}
	var err error
	for _, kind := range kinds { // those without files, too: what an earlier run drew of them goes
		err = errors.Join(err, e.subject(kind).Write(c.Plots))
	}
	return err
}

// subject is what is drawn of a medium, without scores where it had no files.
func (e *evaluation) subject(kind preprocess.Kind) chart.Subject {
	m, ok := e.media[kind]
	if !ok {
		return chart.Subject{Name: string(kind)}
	}
	subject := chart.Subject{Name: string(kind), Ranks: m.ranks, Chances: m.chances}
	for s, p := range m.inOrder() {
		subject.Points = append(subject.Points, chart.OperatingPoint{Name: string(s), Threshold: p.threshold(), Rates: p.rates()})
	}
	return subject
}
