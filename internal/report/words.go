package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"deepfaked/inference"
	"deepfaked/models"
	"deepfaked/preprocess"
)

// leansFake says whether P(fake) at equal priors is one half or more.
func (d *Document) leansFake() bool { return d.LogOdds >= 0 }

// headline is the assessment in words.
func (d *Document) headline() string {
	switch d.Assessment {
	case inference.LikelyFake:
		return "Likely fake"
	case inference.Unclear:
		if d.leansFake() {
			return "Leans fake, but not enough to accuse"
		}
		return "Unclear: there is too little to go by"
	case inference.NotApplicable:
		return "Nothing in it that could be judged"
	}
	return "No sign of a fake was found"
}

// lead says what that means.
func (d *Document) lead() string {
	if d.Assessment == inference.NotApplicable {
		return "The file is whole, and holds nothing that a model could judge. That says neither that it is genuine nor that it is fake."
	}
	says := func(relation, meaning string) string {
		return fmt.Sprintf("The models put the probability that it is fake at %s, %s the line of %s (sensitivity: %s). %s",
			percent(d.ProbabilityFake), relation, percent(d.Threshold), d.Sensitivity, meaning)
	}
	switch {
	case d.Assessment == inference.LikelyFake:
		return says("beyond", "That is a reason to look closer and to ask for the source. It is no proof.")
	case d.Assessment == inference.Unclear && d.leansFake():
		return says("short of", "Look closer, and ask for the source.")
	case d.Assessment == inference.Unclear:
		return says("short of", "But the evidence is thin, and says little either way.")
	}
	return says("short of", "That does not make it authentic: many fakes leave no sign that the models know.")
}

// rates are the errors of the line, in sentences.
func (d *Document) rates() (out []string) {
	for _, r := range d.ErrorRates {
		out = append(out, r.Text)
	}
	if len(out) > 1 {
		out = append(out, "How often both together are wrong was not measured.")
	}
	return out
}

// unseen is what was not looked at.
func (d *Document) unseen() (out []string) {
	for _, n := range d.Notes {
		out = append(out, n.Message)
	}
	if d.MediaType == string(preprocess.Video) {
		if n := d.pieces(models.ImageSynthesis); n > 0 && d.DurationSeconds > 0 {
			out = append(out, fmt.Sprintf("What lies between the %s that were judged, of %s of video.", counted(n, "frame"), duration(d.DurationSeconds)))
		}
		if d.pieces(models.FaceMotion) == 0 {
			out = append(out, "How faces and things move from frame to frame.")
		}
	}
	if d.pieces(models.SpeechSynthesis) > 0 {
		out = append(out, "Sound in which no voice was found, such as music and noise.")
	}
	return append(out,
		"Where the file comes from: what it declares of itself, its content credentials, and earlier copies of it.",
		"Whether what it shows or says is true.")
}

// pieces counts what a task judged.
func (d *Document) pieces(t models.Task) int {
	i := slices.IndexFunc(d.Findings, func(f inference.Finding) bool { return f.Task == string(t) })
	if i < 0 {
		return 0
	}
	return len(d.Findings[i].Pieces)
}

// name is that of the file, or of the detection.
func (d *Document) name() string { return cmp.Or(d.FileName, "A file without a name") }

// what the file is, in a few words.
func (d *Document) what() string {
	kind := map[string]string{"image": "picture", "audio": "sound", "video": "video"}[d.MediaType]
	words := []string{strings.TrimSpace(d.Format + " " + kind)}
	for _, more := range []string{dimensions(d.Width, d.Height), duration(d.DurationSeconds)} {
		if more != "" {
			words = append(words, more)
		}
	}
	return strings.Join(words, ", ")
}

// verdict is that of the service with what it is worth.
func (d *Document) verdict() string {
	if d.Assessment == inference.NotApplicable {
		return d.Verdict + ", as nothing was found"
	}
	return fmt.Sprintf("%s with a confidence of %s: the probability that it is right where %s of all files are fake",
		d.Verdict, strconv.FormatFloat(d.Confidence, 'f', -1, 64), percent(d.SupposedShare))
}

// took is how long the stages took, and on what.
func (d *Document) took() string {
	names := map[string]string{"decode": "decoding", "judge": "judging"}
	var words []string
	for _, stage := range []string{"decode", "judge"} {
		if us, ok := d.Timings[stage]; ok {
			words = append(words, fmt.Sprintf("%s %.2f s", names[stage], float64(us)/1e6))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return strings.Join(words, ", ") + " (" + d.Provider + ")"
}

// percent is a probability for people, which is never certain.
func percent(p float64) string {
	switch {
	case p > 0 && p < .01:
		return "less than 1\u00a0%"
	case p < 1 && p > .99:
		return "more than 99\u00a0%"
	}
	return strconv.FormatFloat(100*p, 'f', 0, 64) + "\u00a0%"
}

func counted(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// size is a number of bytes for people; empty for none.
func size(bytes int64) string {
	if bytes <= 0 {
		return ""
	}
	digits := strconv.FormatInt(bytes, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " bytes"
}

func dimensions(width, height int) string {
	if width == 0 || height == 0 {
		return ""
	}
	return fmt.Sprintf("%d × %d pixels", width, height)
}

// duration is a number of seconds for people; empty for none.
func duration(seconds float64) string {
	switch {
	case seconds <= 0:
		return ""
	case seconds < 60:
		return strconv.FormatFloat(seconds, 'f', 1, 64) + " s"
	}
	return clock(seconds) + " min"
}

// clock is a time within a file, such as 1:02.5.
func clock(seconds float64) string {
	tenths := int(seconds*10 + .5)
	return fmt.Sprintf("%d:%02d.%d", tenths/600, tenths/10%60, tenths%10)
}
