package models

// Task is what a model judges or finds.
type Task string

// The tasks of the service.
const (
	// ImageSynthesis judges a picture as a whole: generated or not.
	ImageSynthesis Task = "image-synthesis"
	// FaceManipulation judges one face crop: swapped, reenacted, generated or not.
	FaceManipulation Task = "face-manipulation"
	// FaceMotion judges how one face moves over consecutive frames of a video: swapped,
	// reenacted or not.
	FaceMotion Task = "face-motion"
	// SpeechSynthesis judges one window of sound: generated or converted speech, or not.
	SpeechSynthesis Task = "speech-synthesis"
	// FaceDetection finds the faces of a picture; it judges nothing.
	FaceDetection Task = "face-detection"
	// VoiceActivity finds the speech in a window of sound; it judges nothing.
	VoiceActivity Task = "voice-activity"
)

// Tasks returns all of them. The caller may write to the slice.
func Tasks() []Task {
	return []Task{ImageSynthesis, FaceManipulation, FaceMotion, SpeechSynthesis, FaceDetection, VoiceActivity}
}

// Optional says whether the service does without a model of the task: none is built in.
func (t Task) Optional() bool { return t == FaceMotion }

// CardFile is the name of the card inside a model folder.
const CardFile = "card.json"

// Card describes one model. It is read from card.json beside the model file.
// A Card is plain data; it is safe to share once loaded.
type Card struct {
	Schema      int    `json:"schema"`  // version of this format: 1
	Name        string `json:"name"`    // unique among the loaded models, lower case, digits and hyphens
	Version     string `json:"version"` // of the weights
	Task        Task   `json:"task"`
	Description string `json:"description"`
	File        string `json:"file"`   // file name inside the folder
	SHA256      string `json:"sha256"` // of File, lower-case hex
	// Weights is the file in which most of the weights are, where they are not in File.
	Weights *Weights `json:"weights,omitempty"`
	Input   Tensor   `json:"input"`
	// Output is one number a row, uncalibrated log-odds of fake; with FaceDetection
	// it is rows of boxes, each five numbers: the log-odds of a face, and its left,
	// upper, right and lower edge in pixels of the input, the surest first; with
	// VoiceActivity it is the log-odds of speech in each of a row's equal steps.
	Output          Tensor          `json:"output"`
	Preprocessing   Preprocessing   `json:"preprocessing"`
	Calibration     Calibration     `json:"calibration,omitzero"`
	OperatingPoints OperatingPoints `json:"operating_points,omitempty"`
	// ByMedium are those of files of a medium: image, audio or video. One that is
	// not there has OperatingPoints.
	ByMedium  map[string]OperatingPoints `json:"operating_points_by_medium,omitempty"`
	Measured  []Measurement              `json:"measured,omitempty"`
	BySource  []SourceFigures            `json:"by_source,omitempty"`
	Detection *Detection                 `json:"detection,omitempty"` // of FaceDetection, in the place of the four above
	Activity  *Activity                  `json:"activity,omitempty"`  // of VoiceActivity, likewise
	Training  Training                   `json:"training"`
	Licences  Licences                   `json:"licences"`
	Golden    Golden                     `json:"golden"`
	// Variants are the same model in fewer bits, in files of their own.
	Variants []Variant `json:"variants,omitempty"`
}

// Tensor names one input or output of the ONNX graph.
type Tensor struct {
	Name  string  `json:"name"`
	Type  string  `json:"type"`  // uint8 or float32
	Shape []int64 `json:"shape"` // the first dimension is the batch and is -1
}

// Preprocessing says how a piece of media becomes rows of the input tensor.
type Preprocessing struct {
	// Tiles is the largest number of square tiles that are cut from one picture
	// at its canonical size, spread evenly; their logits are averaged.
	Tiles int `json:"tiles,omitempty"`
	// Overview adds a row to a picture that is large enough to be reduced: its middle,
	// reduced by the whole factor that brings its shorter side nearest to a tile's. Its
	// logit counts as much as those of all tiles together.
	Overview bool `json:"overview,omitempty"`
	// Margin is the side of a face crop over the longer side of the detected face.
	Margin float64 `json:"margin,omitempty"`
	// Surround is the same of a second, wider crop, which shows what is about the face:
	// a row is then both, the narrow one first.
	Surround float64 `json:"surround,omitempty"`
	// Frames is how many consecutive frames of a video are a row, each a crop of the
	// same face.
	Frames int `json:"frames,omitempty"`
	// SampleRate is in Hz and WindowSamples in samples, for sound (mono, [-1, 1]).
	SampleRate    int `json:"sample_rate,omitempty"`
	WindowSamples int `json:"window_samples,omitempty"`
}

// Calibration maps the mean output z over the rows of one piece of media to
// the log-odds of fake at equal priors: Scale*z + Bias (Platt, 1999).
type Calibration struct {
	Method string  `json:"method"` // platt
	Scale  float64 `json:"scale"`
	Bias   float64 `json:"bias"`
	// Limits are the lowest and the highest log-odds that the validation set
	// supports; see Card.Limits. The counts of Measured bound them.
	Limits *Pair `json:"limits,omitempty"`
	// Sizes are those of small pictures, in ascending order of their sides; see At.
	Sizes []Sized `json:"sizes,omitempty"`
	// Stretch is the rule for a part of a long sound. Without one the mean of all windows decides.
	Stretch *Stretch `json:"stretch,omitempty"`
}

// Sized is the calibration of pictures of one size.
type Sized struct {
	Side  int     `json:"side"` // pixels, the shorter one of the canonical picture
	Scale float64 `json:"scale"`
	Bias  float64 `json:"bias"`
}

// SourceFigures are what becomes of the files of one generator, or of one source of
// genuine media, by a model that has seen neither.
type SourceFigures struct {
	Name       string `json:"name"`
	Repository string `json:"repository,omitempty"` // where the files are from
	Label      string `json:"label"`                // real or fake
	Items      int    `json:"items"`
	// Balanced and Sensitive are the shares called fake at these lines: of clean files,
	// and where it was measured of the same as they are shared on the web.
	Balanced  []float64 `json:"balanced"`
	Sensitive []float64 `json:"sensitive,omitempty"`
}

// Measurement is one figure set, on generators and sources unseen in training. A card
// must state AUC, which lies within its interval, and EER.
type Measurement struct {
	Set         string   `json:"set"`
	Condition   string   `json:"condition"` // clean, or how the files were re-encoded
	AUC         float64  `json:"auc"`
	AUCInterval Pair     `json:"auc_interval"` // 95 %
	EER         float64  `json:"eer"`
	Real        int      `json:"real"` // genuine items
	Fake        int      `json:"fake"`
	ECE         *float64 `json:"ece,omitempty"` // expected calibration error of P(fake) at equal priors
	Note        string   `json:"note,omitempty"`
}

// Training says where the weights come from.
type Training struct {
	Recipe      string   `json:"recipe"` // folder of the training script
	Seed        int      `json:"seed"`
	CPUMinutes  float64  `json:"cpu_minutes"`
	StartedFrom string   `json:"started_from,omitempty"` // pretrained weights, with source and licence
	Sources     []Source `json:"sources"`
	HeldOut     int      `json:"held_out_dropped"` // files dropped because they are held out
}

// Source is one origin of training media.
type Source struct {
	Name       string `json:"name"`
	Repository string `json:"repository"`
	Commit     string `json:"commit"`
	Licence    string `json:"licence"`
	Real       int    `json:"real"`
	Fake       int    `json:"fake"`
}

// Licences of what the model is made of.
type Licences struct {
	Code    string `json:"code"`
	Weights string `json:"weights"`
	Data    string `json:"data"`
}

// Golden is the self-test: one row filled by Pattern must give Output, its first
// number where there are several, within Tolerance, and no other of that row may be infinite
// or none. A card must state all three.
type Golden struct {
	// Pattern names the generator of the row. "lcg" fills element i with
	// h = uint32(i*2654435761+1013904223) >> 24 (0 to 255) for uint8 and with
	// (h/255 - 0.5) * 0.2 for float32.
	Pattern   string  `json:"pattern"`
	Output    float64 `json:"output"`
	Tolerance float64 `json:"tolerance"`
}
