package inference

import (
	"slices"
	"time"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// ReasonCode names something that bears on what a verdict is worth.
type ReasonCode string

// The reasons.
const (
	Silent       ReasonCode = "silent"
	NoSpeech     ReasonCode = "no_speech"
	Blank        ReasonCode = "blank"
	TooSmall     ReasonCode = "too_small"
	TooShort     ReasonCode = "too_short"
	NoFace       ReasonCode = "no_face"
	PartOfSound  ReasonCode = "part_of_sound"
	PartlyUnseen ReasonCode = "partly_unseen"
	Unlike       ReasonCode = "unlike_training_data"
)

// Reason is one of them.
type Reason struct {
	Code ReasonCode `json:"code"`
	Text string     `json:"text"` // a sentence
}

// Evidence below these is thin. Of fakes whose shorter side has 24 to 64 pixels less than 15 % are found
// (scripts/train/image/RESULTS.md), and of genuine speech of up to half a second up to half is called fake.
const (
	smallestSide   = 64 // pixels
	shortestSpeech = time.Second
	leastLikeness  = 0.5 // below which fewer than one in forty media of unseen sources lie (scripts/train/vision/likeness.py)
)

// Text is the reason as a sentence for people. It is empty for what is no reason.
func (c ReasonCode) Text() string {
	switch c {
	case Silent:
		return "The sound is silent wherever it would be judged."
	case NoSpeech:
		return "No speech was found in the sound, and nothing else in it is judged."
	case Blank:
		return "The pictures show nothing but one colour."
	case TooSmall:
		return "The picture is smaller than 64 pixels on its shorter side, where few fakes can be told."
	case TooShort:
		return "There is less than one second of speech, where little can be told."
	case NoFace:
		return "No face was found that is large enough to be judged."
	case PartOfSound:
		return "What is said of the sound rests on a stretch of some seconds, which the report marks."
	case PartlyUnseen:
		return "Part of the file was not judged: the notes of the report say which."
	case Unlike:
		return "It is unlike what the models were trained on, such as a chart, a pattern or a screen of text: what they say of it counts for less."
	}
	return ""
}

// thin says whether evidence is too little for there to be no sign of a fake.
func (c ReasonCode) thin() bool { return c == TooSmall || c == TooShort || c == Unlike }

// reasons are what bears on a verdict that rests on the findings.
func reasons(media *preprocess.Media, findings []finding, notes []preprocess.Note) []Reason {
	pictures, spoken := media.Kind != preprocess.Audio, judged(findings, models.SpeechSynthesis)
	out := make([]Reason, 0, 1)
	for _, r := range []struct {
		code  ReasonCode
		holds bool
	}{
		{Silent, mute(media)},
		{NoSpeech, len(media.Windows) > 0 && !mute(media) && !spoken},
		{Blank, empty(media)},
		{TooSmall, pictures && min(media.Width, media.Height) < smallestSide},
		{TooShort, slices.ContainsFunc(findings, finding.brief)},
		{NoFace, pictures && !empty(media) && !judged(findings, models.FaceManipulation)},
		{PartOfSound, slices.ContainsFunc(findings, finding.ofStretch)},
		{PartlyUnseen, len(notes) > 0},
		{Unlike, slices.ContainsFunc(findings, finding.unlike)},
	} {
		if r.holds {
			out = append(out, Reason{Code: r.code, Text: r.code.Text()})
		}
	}
	return out
}

// judged says whether a task had something to judge.
func judged(findings []finding, t models.Task) bool {
	return slices.ContainsFunc(findings, func(f finding) bool { return f.task == t })
}

// unlike says whether what it judged is unlike the media that its models were trained on.
func (f finding) unlike() bool { return f.likeness != nil && *f.likeness < leastLikeness }

// brief says whether what it judged is speech, and too little of it.
func (f finding) brief() bool { return f.task == models.SpeechSynthesis && f.speech < shortestSpeech }
