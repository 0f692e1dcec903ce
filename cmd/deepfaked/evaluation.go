package main

import (
	"iter"
	"slices"

	"deepfaked/inference"
	"deepfaked/internal/measure"
	"deepfaked/preprocess"
)

// kinds are the media, in the order of the tables.
var kinds = [...]preprocess.Kind{preprocess.Image, preprocess.Audio, preprocess.Video}

// evaluation is what the service made of files whose truth is known.
type evaluation struct {
	files, failed int // the failed are among the files; so are folders that can't be read
	nothing       int // files with nothing to judge, which are in no tally
	media         map[preprocess.Kind]*tally
}

// tally is what it made of the files of one medium.
type tally struct {
	ranks   measure.Scores // log-odds: probabilities end where validation does, and tie there
	chances measure.Scores // P(fake), as it is told
	points  map[inference.Sensitivity]*decided
	kinds   map[string]*tally // by the kind of their subject or source, of the files that have one
}

func newTally() *tally {
	m := &tally{points: map[inference.Sensitivity]*decided{}, kinds: map[string]*tally{}}
	for _, s := range inference.Sensitivities() {
		m.points[s] = &decided{}
	}
	return m
}

// decided are the decisions at one sensitivity, true for fake.
type decided struct {
	onReal, onFake []bool
	thresholds     []float64 // of all files
}

func newEvaluation() *evaluation { return &evaluation{media: map[preprocess.Kind]*tally{}} }

// add counts a file, also among those of its kind if that is not empty. Its medium is that of its content.
func (e *evaluation) add(r judged, fake bool, kind string) {
	e.files++
	if r.Error != "" {
		e.failed++
		return
	}
	if r.Report.Assessment == inference.NotApplicable {
		e.nothing++
		return
	}
	m, ok := e.media[r.Kind]
	if !ok {
		m = newTally()
		e.media[r.Kind] = m
	}
	m.add(r, fake)
	if kind == "" {
		return
	}
	if m.kinds[kind] == nil {
		m.kinds[kind] = newTally()
	}
	m.kinds[kind].add(r, fake)
}

func (m *tally) add(r judged, fake bool) {
	m.ranks.Add(r.Report.LogOdds, fake)
	m.chances.Add(r.Report.ProbabilityFake, fake)
	for s, p := range m.points {
		p.add(r.decisions[s], fake)
	}
}

func (p *decided) add(d inference.Decision, fake bool) {
	class := &p.onReal
	if fake {
		class = &p.onFake
	}
	*class = append(*class, d.Verdict == inference.Fake)
	p.thresholds = append(p.thresholds, d.Threshold)
}

// rates are those of the service's own decisions: each file was decided by its
// own threshold.
func (p *decided) rates() measure.Rates { return measure.Decided(p.onReal, p.onFake) }

// threshold is the median of the files'. They differ where the tasks that had
// something to judge do: a picture with a face and one without have other lines.
func (p *decided) threshold() float64 { return measure.Median(p.thresholds) }

// inOrder goes through the media that there are.
func (e *evaluation) inOrder() iter.Seq2[preprocess.Kind, *tally] {
	return func(yield func(preprocess.Kind, *tally) bool) {
		for _, k := range kinds {
			if m, ok := e.media[k]; ok && !yield(k, m) {
				return
			}
		}
	}
}

// inOrder goes through the levels from strict to sensitive.
func (m *tally) inOrder() iter.Seq2[inference.Sensitivity, *decided] {
	return func(yield func(inference.Sensitivity, *decided) bool) {
		for _, s := range inference.Sensitivities() {
			if !yield(s, m.points[s]) {
				return
			}
		}
	}
}

// mixed says that not all files were decided by the same thresholds.
func (m *tally) mixed() bool {
	for _, p := range m.points {
		if slices.Min(p.thresholds) != slices.Max(p.thresholds) {
			return true
		}
	}
	return false
}
