package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"deepfaked/models"
	"deepfaked/models/catalogue"
)

type modelsCatalogue struct{}

func (c *modelsCatalogue) run(_ context.Context, to streams) error {
	all, err := catalogue.All()
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "NAME\tTASK\tSIZE\tLICENCE\tSTATE\tWHAT IT IS")
	for _, e := range all {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", e.Name, e.Task, size(e), e.Licence.Name, state(e), e.Description+measuredHere(e))
	}
	return table.Flush()
}

// state says how far an entry can be relied on.
func state(e catalogue.Entry) string {
	switch {
	case e.Usable() != nil:
		return "listed only"
	case e.Untested:
		return "not run by us"
	}
	return "converted by us"
}

// size is that of what pull downloads.
func size(e catalogue.Entry) string {
	sum, known := e.Bytes()
	if !known {
		return "unknown"
	}
	return fmt.Sprintf("%.1f MB", float64(sum)/1e6)
}

// measuredHere is a sentence more, where there is something to tell.
func measuredHere(e catalogue.Entry) string {
	if len(e.Measured) == 0 {
		return ""
	}
	return " Measured by this project: " + skill(e.Measured) + "."
}

// skill tells what was measured, and on what: authors' figures, on media like those that
// they trained on, promise far more.
func skill(measured []models.Measurement) string {
	var told []string
	for _, m := range measured {
		text := fmt.Sprintf("AUC %.2f [%.2f, %.2f] on %d genuine and %d fake %s", m.AUC, m.AUCInterval[0], m.AUCInterval[1], m.Real, m.Fake, m.Set)
		if m.AUCInterval[0] <= 0.5 {
			text += "; no skill was shown there"
		}
		told = append(told, text)
	}
	return strings.Join(told, "; ")
}

// describe shows what one should know before one takes a model.
func describe(w io.Writer, e catalogue.Entry) error {
	var text strings.Builder
	_, _ = fmt.Fprintf(&text, "%s: %s\n", e.Name, e.Description)
	for _, f := range e.Figures {
		_, _ = fmt.Fprintf(&text, "  its authors state: %s (%s)\n", f.Text, f.Source)
	}
	if len(e.Measured) > 0 {
		_, _ = fmt.Fprintf(&text, "  measured by this project: %s\n", skill(e.Measured))
	}
	if e.Warning != "" {
		_, _ = fmt.Fprintf(&text, "  note: %s\n", e.Warning)
	}
	for _, f := range e.Files {
		_, _ = fmt.Fprintf(&text, "  from: %s\n", cmp.Or(f.URL, f.Name+" on PyPI, by pip"))
	}
	_, _ = fmt.Fprintf(&text, "  licence: %s, %s\n", e.Licence.Name, e.Licence.URL)
	_, err := io.WriteString(w, text.String())
	return err
}
