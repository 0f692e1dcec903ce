package inference

import (
	"io"
	"os"
	"time"

	"deepfaked/preprocess"
)

// Sensitivity chooses the operating point: which share of genuine media may be
// called fake. It moves the threshold, never the probability.
type Sensitivity string

// The levels of the contract and the false positive rates they aim at.
const (
	Strict    Sensitivity = "strict"    // 1 %
	Balanced  Sensitivity = "balanced"  // 5 %, the default
	Sensitive Sensitivity = "sensitive" // 15 %
)

// Verdict is the answer in a word.
type Verdict string

// The verdicts of the contract.
const (
	Real Verdict = "real"
	Fake Verdict = "fake"
)

// Priority orders work in the scheduler.
type Priority int

// Interactive work goes before background work.
const (
	Interactive Priority = iota
	Background
)

// File is what is judged. Its beginning is read while it waits, and it is opened once
// there is room for it.
type File interface {
	io.ReaderAt
	// Rewind opens it, at offset 0. It stays its owner's.
	Rewind() (*os.File, error)
}

// Request asks for the judgement of one file.
type Request struct {
	File        File            // the caller closes it after Detect has returned
	Size        int64           // bytes
	Declared    preprocess.Kind // as declared by the client; empty: whatever the content is
	Sensitivity Sensitivity     // empty: Balanced
	Account     string          // for fairness between accounts; may be empty
	Priority    Priority
	// Admitted is called once there is room for the file, while it waits for its
	// turn, which may come too late all the same: before, nobody need know of it. Its
	// error ends the call. It may be nil.
	Admitted func() error
}

// Result is the judgement of one file.
type Result struct {
	Verdict    Verdict
	Confidence float64 // probability that Verdict is right where Report.SupposedShare are fake, from 0.5 to 0.9999, in four digits
	Kind       preprocess.Kind
	Report     Report
	Decisions  map[Sensitivity]Decision // by every sensitivity, the one that was asked for among them
}

// Report is everything else that is known about a detection. Probabilities are
// those at Prior, and go no further than the models' validation supports. It is
// stored and served as JSON; it holds no media. Who calls the Detector says what of the file it is not shown.
type Report struct {
	Assessment      Assessment              `json:"assessment"` // of the verdict
	Reasons         []Reason                `json:"reasons"`    // what bears on it; may be empty
	ProbabilityFake float64                 `json:"probability_fake"`
	LogOdds         float64                 `json:"log_odds"` // of fake at equal priors, without limits: for ranking, not for belief
	Threshold       float64                 `json:"threshold"`
	Thresholds      map[Sensitivity]float64 `json:"thresholds"`     // of every sensitivity; Threshold is one of them
	ErrorRates      []ErrorRate             `json:"error_rates"`    // of Threshold
	SupposedShare   float64                 `json:"supposed_share"` // of fakes, at which Threshold is the break-even
	Sensitivity     Sensitivity             `json:"sensitivity"`
	Prior           float64                 `json:"prior"`                // share of fakes that was expected beforehand
	FileName        string                  `json:"file_name,omitempty"`  // as it was sent, without folders
	Size            int64                   `json:"size_bytes,omitempty"` // of the file
	SHA256          string                  `json:"sha256,omitempty"`     // of the file as it was sent
	Format          string                  `json:"format"`
	Width           int                     `json:"width,omitempty"`
	Height          int                     `json:"height,omitempty"`
	DurationSeconds float64                 `json:"duration_seconds,omitempty"`
	Notes           []Note                  `json:"notes,omitempty"` // what of the file was not judged
	Provider        string                  `json:"provider"`        // ONNX Runtime's execution provider
	Findings        []Finding               `json:"findings"`
	Models          []ModelUsed             `json:"models"`
	Fusion          *FusionUsed             `json:"fusion,omitempty"` // of some of the findings; nil where each speaks for itself
	Timings         map[string]int64        `json:"timings_us"`       // microseconds by stage
}

// Note is something of the file that was not judged, though the rest was.
type Note struct {
	Code    preprocess.Note `json:"code"`
	Message string          `json:"message"` // a sentence
}

// Finding is what one task says of the whole file, and of its pieces.
type Finding struct {
	Task            string  `json:"task"`
	ProbabilityFake float64 `json:"probability_fake"`
	LogOdds         float64 `json:"log_odds"` // as in Report
	Threshold       float64 `json:"threshold"`
	// Likeness says how like the media that its models were trained on the file is, from 1 to 0; left out where none tells.
	// Log-odds count as much as that already.
	Likeness *float64 `json:"likeness,omitempty"`
	Pieces   []Piece  `json:"pieces"`
	// Stretch is the part of a sound of more than four windows that speaks most for a fake.
	Stretch *Stretch `json:"stretch,omitempty"`
}

// Stretch is a part of a sound, and what it says.
type Stretch struct {
	StartSeconds    float64 `json:"start_seconds"`
	EndSeconds      float64 `json:"end_seconds"`
	ProbabilityFake float64 `json:"probability_fake"`
	LogOdds         float64 `json:"log_odds"` // as in Report
	Decides         bool    `json:"decides"`  // whether the finding rests on it, as it says more than the whole sound does
}

// Piece is a frame, a face, a face in a stretch of frames or a window of sound.
type Piece struct {
	AtSeconds       float64 `json:"at_seconds"`    // of the first frame of a stretch
	Box             []int   `json:"box,omitempty"` // x, y, width, height of a face, in pixels of the original, upright; of a stretch in its middle frame
	ProbabilityFake float64 `json:"probability_fake"`
	DurationSeconds float64 `json:"duration_seconds,omitempty"` // of a window
	Tiles           []Tile  `json:"tiles,omitempty"`            // of a single picture that one model has judged as a whole
}

// Tile is a square of a picture that was judged by itself. Its probability is by the calibration of pictures: it tells
// tiles from each other, and is not to be believed by itself.
type Tile struct {
	Box             []int   `json:"box"` // as a face's; several may overlap
	ProbabilityFake float64 `json:"probability_fake"`
}

// ModelUsed names a model that took part. The one that finds speech and the one that finds faces are the last,
// and their thresholds are those of speech and of faces.
type ModelUsed struct {
	Name              string   `json:"name"`
	Version           string   `json:"version"`
	SHA256            string   `json:"sha256"`
	Threshold         float64  `json:"threshold"`
	FalsePositiveRate float64  `json:"false_positive_rate,omitempty"` // left out where the card promises none
	DetectionRate     *float64 `json:"detection_rate,omitempty"`      // and where it knows none
}

// FusionUsed says how findings came together: the logarithm of the mean of their odds,
// times Scale, plus Bias. Its threshold and rates stand in the place of those of the models.
type FusionUsed struct {
	Tasks             []string `json:"tasks"` // of the findings
	Scale             float64  `json:"scale"`
	Bias              float64  `json:"bias"` // log-odds
	Threshold         float64  `json:"threshold"`
	FalsePositiveRate float64  `json:"false_positive_rate,omitempty"` // left out as a model's
	DetectionRate     *float64 `json:"detection_rate,omitempty"`
}

// SaturatedError says that the service has more work than it can finish in
// time; the caller may try again after RetryAfter.
type SaturatedError struct{ RetryAfter time.Duration }

// Error is a sentence for people.
func (e *SaturatedError) Error() string {
	return "the service is saturated; retry in " + e.RetryAfter.Round(time.Second).String()
}
