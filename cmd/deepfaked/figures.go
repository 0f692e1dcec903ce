package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"deepfaked/inference"
	"deepfaked/preprocess"
)

// figure is a number that may not be had: null in JSON and a dash for people.
type figure float64

// MarshalJSON writes NaN, which JSON has no word for, as null.
func (f figure) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(f)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

func (f figure) String() string { return f.format("%.3f", 1) }

func (f figure) percent() string { return f.format("%.1f %%", 100) }

func (f figure) format(verb string, factor float64) string {
	if math.IsNaN(float64(f)) {
		return "-"
	}
	return fmt.Sprintf(verb, factor*float64(f))
}

// evalReport is the JSON of deepfaked eval. Scripts rely on its words.
type evalReport struct {
	Files         int                              `json:"files"`
	Failed        int                              `json:"failed"`
	NotApplicable int                              `json:"not_applicable"`
	Media         map[preprocess.Kind]mediumReport `json:"media"`
}

type mediumReport struct {
	Real        int                                   `json:"real"`
	Fake        int                                   `json:"fake"`
	AUC         figure                                `json:"auc"`
	AUCInterval *[2]float64                           `json:"auc_ci95"`
	EER         figure                                `json:"eer"`
	ECE         figure                                `json:"ece"`
	Points      map[inference.Sensitivity]pointReport `json:"operating_points"`
	Kinds       map[string]mediumReport               `json:"kinds,omitempty"` // by the folder below real/ and fake/
}

type pointReport struct {
	Threshold figure `json:"threshold"`
	FPR       figure `json:"fpr"`
	TPR       figure `json:"tpr"`
	Balanced  figure `json:"balanced_accuracy"`
}

func (e *evaluation) report() evalReport {
	out := evalReport{Files: e.files, Failed: e.failed, NotApplicable: e.nothing, Media: map[preprocess.Kind]mediumReport{}}
	for kind, m := range e.media {
		out.Media[kind] = m.report()
	}
	return out
}

func (m *tally) report() mediumReport {
	s := m.ranks
	out := mediumReport{
		Real: len(s.Real), Fake: len(s.Fake), AUC: figure(s.AUC()), EER: figure(s.EER()), ECE: figure(m.chances.ECE()),
		Points: map[inference.Sensitivity]pointReport{},
	}
	if low, high := s.AUCInterval(); !math.IsNaN(low) {
		out.AUCInterval = &[2]float64{low, high}
	}
	for level, p := range m.points {
		r := p.rates()
		out.Points[level] = pointReport{figure(p.threshold()), figure(r.FPR), figure(r.TPR), figure(r.Balanced())}
	}
	for kind, of := range m.kinds {
		if out.Kinds == nil {
			out.Kinds = map[string]mediumReport{}
		}
		out.Kinds[kind] = of.report()
	}
	return out
}

// printTables writes a table of the media and one of their operating points, and
// says what could not be had.
func (e *evaluation) printTables(w io.Writer) error {
	var err error
	if len(e.media) > 0 {
		err = errors.Join(e.printMedia(w), e.printPoints(w), e.printKinds(w))
	}
	_, last := fmt.Fprintln(w, strings.Join(e.remarks(), "\n"))
	return errors.Join(err, last)
}

func (e *evaluation) printMedia(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "MEDIUM\tGENUINE\tFAKE\tAUC\t95 % INTERVAL\tEER\tECE")
	for kind, m := range e.inOrder() {
		r := m.report()
		interval := "-"
		if r.AUCInterval != nil {
			interval = fmt.Sprintf("%.3f to %.3f", r.AUCInterval[0], r.AUCInterval[1])
		}
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\t%s\n", kind, r.Real, r.Fake, r.AUC, interval, r.EER.percent(), r.ECE)
	}
	_, _ = fmt.Fprintln(table)
	return table.Flush()
}

func (e *evaluation) printPoints(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "MEDIUM\tSENSITIVITY\tTHRESHOLD\tFALSE POSITIVES\tDETECTED\tBALANCED ACCURACY")
	for kind, m := range e.inOrder() {
		points := m.report().Points
		for _, level := range inference.Sensitivities() {
			p := points[level]
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", kind, level, p.Threshold, p.FPR.percent(), p.TPR.percent(), p.Balanced.percent())
		}
	}
	_, _ = fmt.Fprintln(table)
	return table.Flush()
}

// remarks are what people need to know about the tables.
func (e *evaluation) remarks() []string {
	out := []string{fmt.Sprintf("%d files, %d failed.", e.files, e.failed)}
	if e.nothing > 0 {
		out = append(out, fmt.Sprintf("Files with nothing to judge, which no figure counts: %d.", e.nothing))
	}
	for kind, m := range e.inOrder() {
		for class, n := range map[string]int{"genuine": len(m.ranks.Real), "fake": len(m.ranks.Fake)} {
			if n == 0 {
				out = append(out, fmt.Sprintf("%s: no %s file was judged, so that what a dash stands for can't be had.", kind, class))
			}
		}
		out = append(out, m.worst(string(kind))...)
		if m.mixed() {
			out = append(out, fmt.Sprintf("%s: thresholds differ between files, as other tasks found something to judge or less may be told of a file than decided; each was decided by its own, the median is shown.", kind))
		}
	}
	return out
}
