package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"

	"deepfaked/inference"
)

// printKinds writes a table of the kinds of each medium, at the line of a balanced sensitivity, and which is the worst.
func (e *evaluation) printKinds(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	found := false
	for medium, m := range e.inOrder() {
		for _, kind := range slices.Sorted(maps.Keys(m.kinds)) {
			if !found {
				_, _ = fmt.Fprintln(table, "MEDIUM\tKIND\tGENUINE\tFAKE\tAUC\tFALSE POSITIVES\tDETECTED")
				found = true
			}
			r := m.kinds[kind].report()
			p := r.Points[inference.Balanced]
			_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", medium, kind, r.Real, r.Fake, r.AUC, p.FPR.percent(), p.TPR.percent())
		}
	}
	if found {
		_, _ = fmt.Fprintln(table)
	}
	return table.Flush()
}

// worst are sentences on the kinds of a medium that come out worst, balanced.
func (m *tally) worst(medium string) []string {
	var out []string
	if kind, fpr := m.extreme(func(p pointReport) figure { return -p.FPR }); kind != "" {
		out = append(out, fmt.Sprintf("%s: the kind of genuine files that is called fake most often is %s, %s of them.", medium, kind, (-fpr).percent()))
	}
	if kind, tpr := m.extreme(func(p pointReport) figure { return p.TPR }); kind != "" {
		out = append(out, fmt.Sprintf("%s: the kind of fake files that is found least often is %s, %s of them.", medium, kind, tpr.percent()))
	}
	return out
}

// extreme is the kind of which a figure is the least, and that figure; no kind where none has it.
func (m *tally) extreme(of func(pointReport) figure) (kind string, least figure) {
	value := func(k string) figure { return of(m.kinds[k].report().Points[inference.Balanced]) }
	known := slices.DeleteFunc(slices.Sorted(maps.Keys(m.kinds)), func(k string) bool { return math.IsNaN(float64(value(k))) })
	if len(known) == 0 {
		return "", 0
	}
	kind = slices.MinFunc(known, func(a, b string) int { return cmp.Compare(value(a), value(b)) })
	return kind, value(kind)
}
