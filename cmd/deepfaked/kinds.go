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
	"deepfaked/internal/measure"
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
	falsePositives := m.shares(func(r measure.Rates) float64 { return r.FPR })
	if len(falsePositives) > 0 {
		kind := slices.MaxFunc(falsePositives, byShare)
		out = append(out, fmt.Sprintf("%s: the kind of genuine files that is called fake most often is %s, %s of them.", medium, kind.name, kind.share.percent()))
	}
	found := m.shares(func(r measure.Rates) float64 { return r.TPR })
	if len(found) > 0 {
		kind := slices.MinFunc(found, byShare)
		out = append(out, fmt.Sprintf("%s: the kind of fake files that is found least often is %s, %s of them.", medium, kind.name, kind.share.percent()))
	}
	return out
}

// kindShare is the share of a kind's files that are called fake.
type kindShare struct {
	name  string
	share figure
}

func byShare(a, b kindShare) int { return cmp.Compare(a.share, b.share) }

// shares are those of the kinds of which they are known, balanced, by the names of the kinds.
func (m *tally) shares(of func(measure.Rates) float64) (out []kindShare) {
	for _, name := range slices.Sorted(maps.Keys(m.kinds)) {
		if share := of(m.kinds[name].points[inference.Balanced].rates()); !math.IsNaN(share) {
			out = append(out, kindShare{name, figure(share)})
		}
	}
	return out
}
