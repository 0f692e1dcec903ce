package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"deepfaked/inference"
	"deepfaked/internal/filename"
)

type detectCommand struct {
	configFlags
	dataFlag
	engineFlags
	priorFlag
	JSON        bool     `name:"json" env:"DEEPFAKED_JSON" help:"Print a line of JSON for each file (default: a table)."`
	Report      *string  `env:"DEEPFAKED_REPORT" placeholder:"DIR" help:"Folder in which to write the report of each file, as NAME.report.json and NAME.report.html (default: none)."`
	ReportKey   *string  `env:"DEEPFAKED_REPORT_KEY" placeholder:"FILE" help:"Private key (Ed25519, PEM) that signs reports (default: none, they are not signed)."`
	Sensitivity string   `env:"DEEPFAKED_SENSITIVITY" default:"balanced" enum:"strict,balanced,sensitive" placeholder:"LEVEL" help:"strict (fewer false positives), balanced or sensitive (fewer false negatives) (default: balanced)."`
	Files       []string `arg:"" name:"file" help:"Images, sounds and videos, by their names: no folders, no pipes."`
}

func (c *detectCommand) run(ctx context.Context, to streams) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // a second signal ends the process at once
	cfg, err := settings(c.configFlags, c.dataFlag, c.engineFlags, c.priorFlag)
	if err != nil {
		return err
	}
	var written *reports
	if c.Report != nil {
		set(&cfg.ReportKey, c.ReportKey)
		if written, err = openReports(*c.Report, cfg.ReportKey); err != nil {
			return err
		}
		defer func() { _ = written.Close() }()
	}
	j, err := openJury(ctx, cfg, c.Files)
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }()
	j.sensitivity = inference.Sensitivity(c.Sensitivity)
	j.reports = written
	results, failed, err := c.judgeAll(ctx, j, to)
	if err != nil {
		return err
	}
	if !c.JSON {
		if err := printTable(to.out, results); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return quietly(failed)
}

// judgeAll writes or collects the results, and writes reports. Where one can't be written, it judges no more.
func (c *detectCommand) judgeAll(ctx context.Context, j *jury, to streams) (results []judged, failed int, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	bar, encoder := progress(to.err, len(c.Files), c.JSON), json.NewEncoder(to.out)
	j.judge(ctx, c.Files, func(r judged) {
		_ = bar.Add(1)
		if r.Error != "" {
			failed++
		}
		if j.reports != nil && r.Error == "" && err == nil {
			if err = j.reports.write(r); err != nil {
				stop()
			}
		}
		if c.JSON && err == nil {
			if err = encoder.Encode(r); err != nil {
				stop()
			}
		}
		results = append(results, r)
	})
	_ = bar.Finish()
	return results, failed, err
}

func printTable(w io.Writer, results []judged) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "FILE\tVERDICT\tCONFIDENCE\tTYPE\tASSESSMENT\tREMARK")
	for _, r := range results {
		if r.Error != "" {
			_, _ = fmt.Fprintf(table, "%s\t-\t-\t-\t-\t%s\n", filename.Shown(r.File), r.Message)
			continue
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", filename.Shown(r.File), r.Verdict, uncertain(*r.Confidence), r.Kind, r.assessment(), r.remark())
	}
	return table.Flush()
}

// assessment is that of the report, a dash where there is none.
func (r judged) assessment() string {
	if r.Report == nil || r.Report.Assessment == "" {
		return "-"
	}
	return string(r.Report.Assessment)
}

// remark says what bears on the verdict, and what of the file was not judged.
func (r judged) remark() string {
	if r.Report == nil {
		return ""
	}
	sentences := make([]string, 0, len(r.Report.Reasons)+len(r.Report.Notes))
	for _, why := range r.Report.Reasons {
		if why.Code != inference.PartlyUnseen { // the notes say of what
			sentences = append(sentences, why.Text)
		}
	}
	for _, n := range r.Report.Notes {
		sentences = append(sentences, n.Message)
	}
	return strings.Join(sentences, " ")
}

// uncertain writes a probability with three digits after the point, or with as many more
// as it takes not to make 0 or 1 of one that lies between.
func uncertain(p float64) string {
	const fewest, most = 3, 20
	text := ""
	for digits := fewest; digits <= most; digits++ {
		text = strconv.FormatFloat(p, 'f', digits, 64)
		if shown, err := strconv.ParseFloat(text, 64); err != nil || shown == p || shown > 0 && shown < 1 {
			break
		}
	}
	return text
}
