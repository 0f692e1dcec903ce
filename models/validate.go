package models

import (
	"encoding/hex"
	"math"
	"path"
	"regexp"
	"slices"
	"unicode/utf8"
)

// Schema is the version of the card format that this package reads.
const Schema = 1

// maxRowLen bounds the elements of one row, so that a card can't ask for a
// batch that does not fit in memory: 64 Mi is sixty times a 512x512 RGB tile.
const maxRowLen = 64 << 20

// soundRate is the rate in Hz at which the decoder delivers all sound.
const soundRate = 16_000

var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// Validate returns a *CardError for the first field that makes no sense.
func (c *Card) Validate() error {
	checks := []func(*Card) error{
		checkIdentity, checkFile, checkInput, checkOutput, checkPreprocessing,
		checkVerdict, checkTraining, checkLicences, checkGolden, checkVariants, checkWeights,
	}
	for _, check := range checks {
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

func checkIdentity(c *Card) error {
	switch {
	case c.Schema != Schema:
		return wrong("schema", "is %d, this version reads %d", c.Schema, Schema)
	case !namePattern.MatchString(c.Name):
		return wrong("name", "must be 1 to 64 lower-case letters, digits and hyphens, and start with a letter or digit")
	case c.Version == "" || utf8.RuneCountInString(c.Version) > 64:
		return wrong("version", "must have 1 to 64 characters")
	}
	if !slices.Contains(Tasks(), c.Task) {
		return wrong("task", "is %q, it must be one of %q", c.Task, Tasks())
	}
	return nil
}

func checkFile(c *Card) error {
	if err := checkPlain("file", c.File); err != nil {
		return err
	}
	return checkSum("sha256", c.SHA256)
}

// checkPlain refuses everything but a plain name: a path could leave the folder.
func checkPlain(field, name string) error {
	plain := name != "" && name != "." && name != ".." && path.Base(name) == name
	if !plain || slices.ContainsFunc([]byte(name), func(b byte) bool { return b == '\\' || b == 0 }) {
		return wrong(field, "is %q, it must be the plain name of a file in the card's folder", name)
	}
	if name == CardFile {
		return wrong(field, "must name the file itself, not the card")
	}
	return nil
}

func checkSum(field, text string) error {
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != 32 || hex.EncodeToString(sum) != text {
		return wrong(field, "must be 64 lower-case hexadecimal digits")
	}
	return nil
}

func checkInput(c *Card) error {
	if c.Input.Type != "uint8" && c.Input.Type != "float32" {
		return wrong("input.type", "is %q, it must be uint8 or float32", c.Input.Type)
	}
	if err := checkTensor("input", c.Input); err != nil {
		return err
	}
	switch {
	case c.Task == SpeechSynthesis || c.Task == VoiceActivity:
		if c.Input.Type != "float32" || len(c.Input.Shape) != 2 {
			return wrong("input.shape", "must be [-1, samples] of float32 for %s", c.Task)
		}
	case c.Task == FaceMotion:
		if !squares(c.Input, 5) {
			return wrong("input.shape", "must be [-1, frames, side, side, 3] of uint8 for %s; normalisation belongs into the graph", c.Task)
		}
	case c.Task == FaceManipulation && c.Preprocessing.Surround != 0:
		if !squares(c.Input, 5) || c.Input.Shape[1] != 2 {
			return wrong("input.shape", "must be [-1, 2, side, side, 3] of uint8 for %s with a surround; normalisation belongs into the graph", c.Task)
		}
	case !squares(c.Input, 4):
		return wrong("input.shape", "must be [-1, side, side, 3] of uint8 for %s; normalisation belongs into the graph", c.Task)
	}
	return nil
}

// squares says whether an input of so many dimensions is of square RGB pictures.
func squares(t Tensor, dimensions int) bool {
	n := len(t.Shape)
	return t.Type == "uint8" && n == dimensions && t.Shape[n-1] == 3 && t.Shape[n-2] == t.Shape[n-3]
}

func checkOutput(c *Card) error {
	if c.Output.Type != "float32" {
		return wrong("output.type", "is %q, it must be float32", c.Output.Type)
	}
	if c.Task == FaceDetection {
		if err := checkTensor("output", c.Output); err != nil {
			return err
		}
		if len(c.Output.Shape) != 3 || c.Output.Shape[2] != BoxLen {
			return wrong("output.shape", "must be [-1, boxes, %d] for %s", BoxLen, c.Task)
		}
		return nil
	}
	if c.Task == VoiceActivity {
		if err := checkTensor("output", c.Output); err != nil {
			return err
		}
		if len(c.Output.Shape) != 2 {
			return wrong("output.shape", "must be [-1, steps] for %s", c.Task)
		}
		return nil
	}
	if len(c.Output.Shape) == 1 && c.Output.Shape[0] == -1 {
		return checkName("output", c.Output)
	}
	if err := checkTensor("output", c.Output); err != nil {
		return err
	}
	if n := c.Output.RowLen(); n != 1 && (n != 2 || c.Task != ImageSynthesis && c.Task != FaceManipulation) {
		return wrong("output.shape", "must hold one number a row, [-1] or [-1, 1], or two of a picture or a face: [-1, 2]")
	}
	return nil
}

func checkName(field string, t Tensor) error {
	if t.Name == "" || utf8.RuneCountInString(t.Name) > 256 {
		return wrong(field+".name", "must have 1 to 256 characters")
	}
	return nil
}

func checkTensor(field string, t Tensor) error {
	if err := checkName(field, t); err != nil {
		return err
	}
	if len(t.Shape) < 2 || len(t.Shape) > 8 || t.Shape[0] != -1 {
		return wrong(field+".shape", "must have 2 to 8 dimensions, the first of them -1 (the batch)")
	}
	n := int64(1)
	for _, d := range t.Shape[1:] {
		if d < 1 || d > maxRowLen || n > maxRowLen/d {
			return wrong(field+".shape", "must have positive dimensions and at most %d elements a row", maxRowLen)
		}
		n *= d
	}
	return nil
}

func checkPreprocessing(c *Card) error {
	p := c.Preprocessing
	switch c.Task {
	case ImageSynthesis:
		if p.Tiles < 1 || p.Tiles > 64 {
			return wrong("preprocessing.tiles", "is %d, it must be between 1 and 64", p.Tiles)
		}
	case FaceManipulation:
		return checkCrops(p)
	case FaceMotion:
		return checkMotion(c)
	case SpeechSynthesis, VoiceActivity:
		if p.SampleRate != soundRate {
			return wrong("preprocessing.sample_rate", "is %d Hz, it must be %d", p.SampleRate, soundRate)
		}
		if int64(p.WindowSamples) != c.Input.Shape[1] {
			return wrong("preprocessing.window_samples", "is %d, but a row of the input has %d", p.WindowSamples, c.Input.Shape[1])
		}
	case FaceDetection: // the picture is reduced to the side of the input
	}
	return nil
}

// maxSurround is as wide as a crop about a face may be: cutting takes time with its area.
const maxSurround = 8

func checkMargin(p Preprocessing) error {
	if !within(p.Margin, 0.5, 4) {
		return wrong("preprocessing.margin", "is %g, it must be between 0.5 and 4", p.Margin)
	}
	return nil
}

func checkCrops(p Preprocessing) error {
	if err := checkMargin(p); err != nil {
		return err
	}
	if p.Surround != 0 && !(p.Surround > p.Margin && p.Surround <= maxSurround) {
		return wrong("preprocessing.surround", "is %g, it must be wider than the margin of %g and at most %d, or left out", p.Surround, p.Margin, maxSurround)
	}
	return nil
}

// A motion is of two frames at least, and of few: a decoder keeps all of them in memory.
const (
	minFrames = 2
	maxFrames = 64
)

func checkMotion(c *Card) error {
	switch n := c.Preprocessing.Frames; {
	case n < minFrames || n > maxFrames:
		return wrong("preprocessing.frames", "is %d, it must be between %d and %d", n, minFrames, maxFrames)
	case int64(n) != c.Input.Shape[1]:
		return wrong("preprocessing.frames", "is %d, but a row of the input has %d", n, c.Input.Shape[1])
	}
	return checkMargin(c.Preprocessing)
}

// within reports whether v is a number in [low, high]; NaN is not.
func within(v, low, high float64) bool { return v >= low && v <= high }

// isThreshold refuses 0, which a threshold that is missing or misspelt is read as.
func isThreshold(v float64) bool { return v > 0 && v <= 1 }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
