package inference

import (
	"fmt"
	"strconv"
	"strings"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// ErrorRate says how often a line was wrong where it was measured, for the findings that it decides. Where a file has
// several, the lines were measured apart.
type ErrorRate struct {
	Tasks                 []string     `json:"tasks"` // of the findings
	FalsePositiveRate     float64      `json:"false_positive_rate,omitempty"`
	FalsePositiveInterval *models.Pair `json:"false_positive_interval,omitempty"` // 95 %
	DetectionRate         *float64     `json:"detection_rate,omitempty"`
	DetectionInterval     *models.Pair `json:"detection_interval,omitempty"` // 95 %
	Text                  string       `json:"text"`                         // a sentence
}

// errorRates are those of the lines that decide: that of the fusion for the findings that it joins, and that of the
// task's model for each other.
func (d *Detector) errorRates(kind preprocess.Kind, findings []finding, s Sensitivity) []ErrorRate {
	out := []ErrorRate{}
	var fused []string
	for _, f := range findings {
		if d.fusion != nil && d.fusion.Fuses(f.task) {
			fused = append(fused, string(f.task))
			continue
		}
		var p models.OperatingPoint // several models share a line at which nobody has measured them together
		if cards := d.judges[f.task]; len(cards) == 1 {
			p = cards[0].PointsOf(string(kind))[string(s)]
		}
		out = append(out, newErrorRate(p, string(f.task)))
	}
	if len(fused) > 0 {
		out = append(out, newErrorRate(d.fusion.PointsOf(string(kind))[string(s)], fused...))
	}
	for i := range out {
		out[i].Text = out[i].sentence(kind, len(out) > 1)
	}
	return out
}

func newErrorRate(p models.OperatingPoint, tasks ...string) ErrorRate {
	return ErrorRate{
		Tasks: tasks, FalsePositiveRate: p.FalsePositiveRate, FalsePositiveInterval: p.FalsePositiveInterval,
		DetectionRate: p.DetectionRate, DetectionInterval: p.DetectionInterval,
	}
}

// sentence words the rates for people; among several lines it says which of them it is about.
func (r ErrorRate) sentence(kind preprocess.Kind, several bool) string {
	genuine, by := map[preprocess.Kind]string{preprocess.Image: "pictures", preprocess.Video: "videos"}[kind], ""
	speech := r.Tasks[0] == string(models.SpeechSynthesis)
	if speech {
		genuine = "recordings of speech"
	}
	switch {
	case several && speech:
		by = " by the sound alone"
	case several:
		by = " by the pictures alone"
	}
	said := fmt.Sprintf("How many genuine %s are called fake at this line%s was not measured", genuine, by)
	if r.FalsePositiveRate > 0 {
		said = fmt.Sprintf("Of 100 genuine %s about %s are called fake at this line%s", genuine, percent(r.FalsePositiveRate), by)
		if i := r.FalsePositiveInterval; i != nil {
			said += fmt.Sprintf(" (measured %s to %s)", percent(i[0]), percent(i[1]))
		}
	}
	if r.DetectionRate != nil {
		said += fmt.Sprintf(", and of 100 fake ones about %s are found", percent(*r.DetectionRate))
		if i := r.DetectionInterval; i != nil {
			said += fmt.Sprintf(" (%s to %s)", percent(i[0]), percent(i[1]))
		}
	}
	return said + "."
}

// percent is a share of 100, with a digit after the point where it is less than ten.
func percent(share float64) string {
	digits := 0
	if share < .0995 {
		digits = 1
	}
	return strings.TrimSuffix(strconv.FormatFloat(100*share, 'f', digits, 64), ".0")
}
