package models

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestValidateAcceptsEachTask(t *testing.T) {
	t.Parallel()
	flat := validCard()
	flat.Output.Shape = []int64{-1}
	for name, card := range map[string]Card{
		"image": validCard(), "speech": speechCard(), "face": faceCard(), "surrounded": surroundedCard(), "motion": motionCard(), "finder": finderCard(),
		"flat output": flat, "figures of sources": sourced(),
	} {
		if err := card.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidateNamesTheField(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	cases := map[string]struct {
		field string
		spoil func(*Card)
	}{
		"schema of the future": {"schema", func(c *Card) { c.Schema = 2 }},
		"name with capitals":   {"name", func(c *Card) { c.Name = "Tiny" }},
		"name with newline":    {"name", func(c *Card) { c.Name = "tiny\n" }},
		"no version":           {"version", func(c *Card) { c.Version = "" }},
		"unknown task":         {"task", func(c *Card) { c.Task = "weather" }},
		"no file":              {"file", func(c *Card) { c.File = "" }},
		"file above":           {"file", func(c *Card) { c.File = "../model.onnx" }},
		"file is parent":       {"file", func(c *Card) { c.File = ".." }},
		"file absolute":        {"file", func(c *Card) { c.File = "/etc/passwd" }},
		"file in subfolder":    {"file", func(c *Card) { c.File = "a/model.onnx" }},
		"file with backslash":  {"file", func(c *Card) { c.File = `..\model.onnx` }},
		"file is the card":     {"file", func(c *Card) { c.File = CardFile }},
		"checksum short":       {"sha256", func(c *Card) { c.SHA256 = "abcd" }},
		"checksum upper case":  {"sha256", func(c *Card) { c.SHA256 = strings.Repeat("A", 64) }},
		"input type":           {"input.type", func(c *Card) { c.Input.Type = "float16" }},
		"input name":           {"input.name", func(c *Card) { c.Input.Name = "" }},
		"input without shape":  {"input.shape", func(c *Card) { c.Input.Shape = nil }},
		"batch fixed":          {"input.shape", func(c *Card) { c.Input.Shape[0] = 1 }},
		"dimension open":       {"input.shape", func(c *Card) { c.Input.Shape[1] = -1 }},
		"dimension zero":       {"input.shape", func(c *Card) { c.Input.Shape[1] = 0 }},
		"row overflows":        {"input.shape", func(c *Card) { c.Input.Shape = []int64{-1, 1 << 20, 1 << 40, 1 << 20} }},
		"row overflows int64":  {"input.shape", func(c *Card) { c.Input.Shape = []int64{-1, 1 << 25, 1 << 25, 1 << 25} }},
		"rows too long":        {"input.shape", func(c *Card) { c.Input.Shape = []int64{-1, 8192, 8192, 3} }},
		"channels first":       {"input.shape", func(c *Card) { c.Input.Shape = []int64{-1, 3, 7, 7} }},
		"pictures of numbers":  {"input.shape", func(c *Card) { c.Input.Type = "float32" }},
		"not square":           {"input.shape", func(c *Card) { c.Input.Shape = []int64{-1, 2, 4, 3} }},
		"output type":          {"output.type", func(c *Card) { c.Output.Type = "uint8" }},
		"output name":          {"output.name", func(c *Card) { c.Output.Name = "" }},
		"three numbers a row":  {"output.shape", func(c *Card) { c.Output.Shape = []int64{-1, 3} }},
		"no tiles":             {"preprocessing.tiles", func(c *Card) { c.Preprocessing.Tiles = 0 }},
		"method":               {"calibration.method", func(c *Card) { c.Calibration.Method = "isotonic" }},
		"scale negative":       {"calibration.scale", func(c *Card) { c.Calibration.Scale = -1 }},
		"scale not a number":   {"calibration.scale", func(c *Card) { c.Calibration.Scale = nan }},
		// Of an output of 30 it made an infinite number, and of two of those no number: every detection failed.
		"scale without bounds":   {"calibration.scale", func(c *Card) { c.Calibration.Scale = 1e308 }},
		"bias infinite":          {"calibration.bias", func(c *Card) { c.Calibration.Bias = inf }},
		"limits the wrong way":   {"calibration.limits", func(c *Card) { c.Calibration.Limits = &Pair{1, -1} }},
		"limit not a number":     {"calibration.limits", func(c *Card) { c.Calibration.Limits = &Pair{nan, 1} }},
		"limit infinite":         {"calibration.limits", func(c *Card) { c.Calibration.Limits = &Pair{-1, inf} }},
		"level missing":          {"operating_points.balanced", func(c *Card) { delete(c.OperatingPoints, "balanced") }},
		"level too many":         {"operating_points", func(c *Card) { c.OperatingPoints["lax"] = OperatingPoint{} }},
		"threshold above one":    {"operating_points.strict.threshold", func(c *Card) { setPoint(c, "strict", func(p *OperatingPoint) { p.Threshold = 1.1 }) }},
		"threshold not a number": {"operating_points.sensitive.threshold", func(c *Card) { setPoint(c, "sensitive", func(p *OperatingPoint) { p.Threshold = nan }) }},
		"thresholds out of order": {"operating_points.balanced.threshold", func(c *Card) {
			setPoint(c, "balanced", func(p *OperatingPoint) { p.Threshold = .95 })
		}},
		"rate above one": {"operating_points.strict.false_positive_rate", func(c *Card) {
			setPoint(c, "strict", func(p *OperatingPoint) { p.FalsePositiveRate = 5 })
		}},
		// strict may promise .01 and nothing else: a rate of .9 was shown as its own.
		"rate of no level": {"operating_points.strict.false_positive_rate", func(c *Card) {
			setPoint(c, "strict", func(p *OperatingPoint) { p.FalsePositiveRate = .9 })
		}},
		"rate of another level": {"operating_points.sensitive.false_positive_rate", func(c *Card) {
			setPoint(c, "sensitive", func(p *OperatingPoint) { p.FalsePositiveRate = .01 })
		}},
		"rate not a number": {"operating_points.strict.false_positive_rate", func(c *Card) {
			setPoint(c, "strict", func(p *OperatingPoint) { p.FalsePositiveRate = nan })
		}},
		// Blanks passed for a licence.
		"blank licence of weights": {"licences.weights", func(c *Card) { c.Licences.Weights = "   " }},
		"detection rate": {"operating_points.strict.detection_rate", func(c *Card) {
			setPoint(c, "strict", func(p *OperatingPoint) { p.DetectionRate = new(-1.) })
		}},
		"interval of false positives": {"operating_points.strict.false_positive_interval", func(c *Card) {
			setPoint(c, "strict", func(p *OperatingPoint) { p.FalsePositiveInterval = &Pair{.4, 2} })
		}},
		"interval reversed": {"operating_points.strict.detection_interval", func(c *Card) {
			setPoint(c, "strict", func(p *OperatingPoint) { p.DetectionInterval = &Pair{.4, .2} })
		}},
		"set without name":          {"measured.0.set", func(c *Card) { c.Measured[0].Set = "" }},
		"AUC above one":             {"measured.0.auc", func(c *Card) { c.Measured[0].AUC = 80 }},
		"AUC interval":              {"measured.0.auc_interval", func(c *Card) { c.Measured[0].AUCInterval[1] = 2 }},
		"EER":                       {"measured.0.eer", func(c *Card) { c.Measured[0].EER = nan }},
		"negative reals":            {"measured.0.real", func(c *Card) { c.Measured[0].Real = -1 }},
		"negative fakes":            {"measured.0.fake", func(c *Card) { c.Measured[0].Fake = -1 }},
		"calibration error":         {"measured.0.ece", func(c *Card) { c.Measured[0].ECE = new(1.5) }},
		"negative minutes":          {"training.cpu_minutes", func(c *Card) { c.Training.CPUMinutes = -1 }},
		"negative held out":         {"training.held_out_dropped", func(c *Card) { c.Training.HeldOut = -1 }},
		"figures of no generator":   {"by_source.0.name", source(func(s *SourceFigures) { s.Name = " " })},
		"figures of neither":        {"by_source.0.label", source(func(s *SourceFigures) { s.Label = "genuine" })},
		"figures of nothing":        {"by_source.0.items", source(func(s *SourceFigures) { s.Items = 0 })},
		"figures without a share":   {"by_source.0.balanced", source(func(s *SourceFigures) { s.Balanced = nil })},
		"figures of three kinds":    {"by_source.0.sensitive", source(func(s *SourceFigures) { s.Sensitive = []float64{0, 0, 0} })},
		"more than all files":       {"by_source.0", source(func(s *SourceFigures) { s.Sensitive[1] = 1.5 })},
		"finder with figures":       {"by_source", finder(func(c *Card, _ *Detection) { c.BySource = sourced().BySource })},
		"source without name":       {"training.sources.0.name", func(c *Card) { c.Training.Sources[0].Name = "" }},
		"source without terms":      {"training.sources.0.licence", func(c *Card) { c.Training.Sources[0].Licence = "" }},
		"code without licence":      {"licences.code", func(c *Card) { c.Licences.Code = "" }},
		"weights unlicensed":        {"licences.weights", func(c *Card) { c.Licences.Weights = "" }},
		"data unlicensed":           {"licences.data", func(c *Card) { c.Licences.Data = "" }},
		"pattern":                   {"golden.pattern", func(c *Card) { c.Golden.Pattern = "zeros" }},
		"golden output":             {"golden.output", func(c *Card) { c.Golden.Output = nan }},
		"tolerance zero":            {"golden.tolerance", func(c *Card) { c.Golden.Tolerance = 0 }},
		"speech of bytes":           {"input.shape", func(c *Card) { *c = speechCard(); c.Input.Type = "uint8" }},
		"speech sample rate":        {"preprocessing.sample_rate", func(c *Card) { *c = speechCard(); c.Preprocessing.SampleRate = 8000 }},
		"speech window":             {"preprocessing.window_samples", func(c *Card) { *c = speechCard(); c.Preprocessing.WindowSamples = 1 }},
		"detection of a judge":      {"detection", func(c *Card) { c.Detection = finderCard().Detection }},
		"hearer without activity":   {"activity", hearer(func(c *Card, _ *Activity) { c.Activity = nil })},
		"hearer with boxes":         {"detection", hearer(func(c *Card, _ *Activity) { c.Detection = finderCard().Detection })},
		"hearer that is calibrated": {"calibration", hearer(func(c *Card, _ *Activity) { c.Calibration.Scale = 1 })},
		"hearer of pictures":        {"input.shape", hearer(func(c *Card, _ *Activity) { c.Input = validCard().Input })},
		"hearer of another rate":    {"preprocessing.sample_rate", hearer(func(c *Card, _ *Activity) { c.Preprocessing.SampleRate = 8000 })},
		"hearer without steps":      {"output.shape", hearer(func(c *Card, _ *Activity) { c.Output.Shape = []int64{-1} })},
		"hearer of boxes":           {"output.shape", hearer(func(c *Card, _ *Activity) { c.Output.Shape = []int64{-1, 4, 5} })},
		"hearer threshold":          {"activity.threshold", hearer(func(_ *Card, a *Activity) { a.Threshold = 1 })},
		"hearer steps":              {"activity.steps", hearer(func(_ *Card, a *Activity) { a.Steps = 5 })},
		"hearer set":                {"activity.measured.0.set", hearer(func(_ *Card, a *Activity) { a.Measured[0].Set = "" })},
		"hearer speech":             {"activity.measured.0.speech", hearer(func(_ *Card, a *Activity) { a.Measured[0].Speech = 4 })},
		"activity of a judge":       {"activity", func(c *Card) { c.Activity = hearerCard().Activity }},
		"finder without detection":  {"detection", finder(func(c *Card, _ *Detection) { c.Detection = nil })},
		"finder that is calibrated": {"calibration", finder(func(c *Card, _ *Detection) { c.Calibration.Scale = 1 })},
		"finder with levels":        {"operating_points", finder(func(c *Card, _ *Detection) { c.OperatingPoints = validCard().OperatingPoints })},
		"finder with AUC":           {"measured", finder(func(c *Card, _ *Detection) { c.Measured = validCard().Measured })},
		"finder of four numbers":    {"output.shape", finder(func(c *Card, _ *Detection) { c.Output.Shape[2] = 4 })},
		"finder of one box":         {"output.shape", finder(func(c *Card, _ *Detection) { c.Output.Shape = []int64{-1, 5} })},
		"finder of open boxes":      {"output.shape", finder(func(c *Card, _ *Detection) { c.Output.Shape[1] = -1 })},
		"finder threshold":          {"detection.threshold", finder(func(_ *Card, d *Detection) { d.Threshold = nan })},
		"finder overlap":            {"detection.overlap", finder(func(_ *Card, d *Detection) { d.Overlap = 2 })},
		"finder set":                {"detection.measured.0.set", finder(func(_ *Card, d *Detection) { d.Measured[0].Set = "" })},
		"finder pictures":           {"detection.measured.0.pictures", finder(func(_ *Card, d *Detection) { d.Measured[0].Pictures = -1 })},
		"finder faces":              {"detection.measured.0.faces", finder(func(_ *Card, d *Detection) { d.Measured[0].Faces = -1 })},
		"finder precision":          {"detection.measured.0.precision", finder(func(_ *Card, d *Detection) { d.Measured[0].Precision = nan })},
		"finder recall":             {"detection.measured.0.recall", finder(func(_ *Card, d *Detection) { d.Measured[0].Recall = 90 })},
		"finder precision interval": {"detection.measured.0.precision_interval", finder(func(_ *Card, d *Detection) { d.Measured[0].PrecisionInterval[1] = 0 })},
		"finder recall interval":    {"detection.measured.0.recall_interval", finder(func(_ *Card, d *Detection) { d.Measured[0].RecallInterval[1] = 2 })},
		"face without a margin":     {"preprocessing.margin", func(c *Card) { *c = faceCard(); c.Preprocessing.Margin = 0 }},
		"surround that is narrow":   {"preprocessing.surround", surrounded(func(c *Card) { c.Preprocessing.Surround = 1.3 })},
		"surround that is wide":     {"preprocessing.surround", surrounded(func(c *Card) { c.Preprocessing.Surround = 8.1 })},
		"surround not a number":     {"preprocessing.surround", surrounded(func(c *Card) { c.Preprocessing.Surround = nan })},
		"surround below nothing":    {"preprocessing.surround", surrounded(func(c *Card) { c.Preprocessing.Surround = -2.6 })},
		"surround without a crop":   {"input.shape", surrounded(func(c *Card) { c.Input.Shape = []int64{-1, 2, 2, 3} })},
		"surround of three crops":   {"input.shape", surrounded(func(c *Card) { c.Input.Shape[1] = 3 })},
		"two crops, no surround":    {"input.shape", surrounded(func(c *Card) { c.Preprocessing.Surround = 0 })},
		"motion of one frame":       {"input.shape", motion(func(c *Card) { c.Input.Shape = []int64{-1, 2, 2, 3} })},
		"motion of numbers":         {"input.shape", motion(func(c *Card) { c.Input.Type = "float32" })},
		"motion that is not square": {"input.shape", motion(func(c *Card) { c.Input.Shape[3] = 4 })},
		"motion of grey":            {"input.shape", motion(func(c *Card) { c.Input.Shape[4] = 1 })},
		"motion without a margin":   {"preprocessing.margin", motion(func(c *Card) { c.Preprocessing.Margin = 0 })},
		"motion without frames":     {"preprocessing.frames", motion(func(c *Card) { c.Preprocessing.Frames = 0 })},
		"motion of other frames":    {"preprocessing.frames", motion(func(c *Card) { c.Preprocessing.Frames = 29 })},
		"motion that stands still":  {"preprocessing.frames", motion(func(c *Card) { c.Preprocessing.Frames, c.Input.Shape[1] = 1, 1 })},
		"motion that is long":       {"preprocessing.frames", motion(func(c *Card) { c.Preprocessing.Frames, c.Input.Shape[1] = 65, 65 })},
		"motion with two numbers":   {"output.shape", motion(func(c *Card) { c.Output.Shape = []int64{-1, 2} })},
		"motion with detection":     {"detection", motion(func(c *Card) { c.Detection = finderCard().Detection })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			card := validCard()
			tc.spoil(&card)
			checkField(t, card.Validate(), tc.field)
		})
	}
}

func checkField(t *testing.T, err error, field string) {
	t.Helper()
	wrong, ok := errors.AsType[*CardError](err)
	if !ok {
		t.Fatalf("error is %v, want a CardError for %s", err, field)
	}
	if wrong.Field != field || !strings.Contains(err.Error(), field) {
		t.Errorf("error names %s (%v), want %s", wrong.Field, err, field)
	}
}

func TestParseRefusesWhatIsNotACard(t *testing.T) {
	t.Parallel()
	valid := encode(t, validCard())
	for name, data := range map[string]string{
		"empty": "", "not JSON": "card", "cut short": string(valid[:len(valid)/2]),
		"array": "[]", "two objects": string(valid) + "{}", "NaN": `{"golden":{"output":NaN}}`,
	} {
		if card, err := Parse([]byte(data)); err == nil {
			t.Errorf("%s: parsed as %+v", name, card)
		}
	}
}

func TestParseNamesTheFieldOfAWrongType(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte(`{"schema":1,"input":{"shape":"wide"}}`))
	checkField(t, err, "input.shape")
}

func encode(t testing.TB, card Card) []byte {
	t.Helper()
	data, err := json.Marshal(card)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzParse holds that a card which passes is one that the rest of the service
// can rely on, whatever the bytes.
func FuzzParse(f *testing.F) {
	f.Add(encode(f, validCard()))
	f.Add(encode(f, speechCard()))
	f.Add(encode(f, faceCard()))
	f.Add(encode(f, motionCard()))
	f.Add(encode(f, finderCard()))
	f.Add(encode(f, hearerCard()))
	f.Add([]byte(`{"schema":1}`))
	f.Add([]byte(`{"input":{"shape":[-1,9223372036854775807,9223372036854775807]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		card, err := Parse(data)
		if err != nil {
			return
		}
		if n := card.Input.RowLen(); n < 1 || n > maxRowLen {
			t.Errorf("a row of %v has %d elements", card.Input.Shape, n)
		}
		judged := card.Task == ImageSynthesis || card.Task == FaceManipulation
		if numbers := card.Output.RowLen(); numbers != 1 && (!judged || numbers != 2) && card.Task != VoiceActivity && (card.Task != FaceDetection || numbers%BoxLen != 0) {
			t.Errorf("output %v is neither log-odds, with or without likeness, nor steps nor boxes", card.Output.Shape)
		}
		if card.Task == FaceMotion && card.Input.RowLen() != card.Preprocessing.Frames*int(card.Input.Shape[2]*card.Input.Shape[2])*3 {
			t.Errorf("a row of %v does not hold %d frames", card.Input.Shape, card.Preprocessing.Frames)
		}
		p := card.OperatingPoints
		if p["strict"].Threshold < p["balanced"].Threshold || p["balanced"].Threshold < p["sensitive"].Threshold {
			t.Errorf("thresholds are out of order: %v", p)
		}
	})
}

// What a card may claim ends where its validation does.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change    func(*Card)
		low, high float64
	}{
		"said":           {func(c *Card) { c.Calibration.Limits = &Pair{-1, 2} }, -1, 2},
		"said to be nil": {func(c *Card) { c.Calibration.Limits = &Pair{} }, 0, 0},
		"counted":        {func(c *Card) { c.Measured = []Measurement{{Set: "x", Real: 299, Fake: 49}} }, -math.Log(50), math.Log(300)},
		"unmeasured":     {func(c *Card) { c.Measured = nil }, -math.Log(21), math.Log(21)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			card := validCard()
			c.change(&card)
			if low, high := card.Limits(); math.Abs(low-c.low) > 1e-12 || math.Abs(high-c.high) > 1e-12 {
				t.Errorf("%v to %v, want %v to %v", low, high, c.low, c.high)
			}
		})
	}
}

// TestLimitsEndWhereValidationDoes: a card measured on nothing was accepted with limits of
// 50, and the service said that a file is genuine with a confidence of 0.99999.
func TestLimitsEndWhereValidationDoes(t *testing.T) {
	t.Parallel()
	measured := func(counts ...int) (all []Measurement) { // genuine, fake, and those of the next set
		for ; len(counts) > 0; counts = counts[2:] {
			m := validCard().Measured[0]
			m.Real, m.Fake = counts[0], counts[1]
			all = append(all, m)
		}
		return all
	}
	for name, c := range map[string]struct {
		measured []Measurement
		limits   Pair
		good     bool
	}{
		"as far as it goes":  {measured(299, 49), Pair{-math.Log1p(49), math.Log1p(299)}, true},
		"too surely fake":    {measured(299, 49), Pair{-1, math.Log1p(300)}, false},
		"too surely genuine": {measured(299, 49), Pair{-math.Log1p(50), 1}, false},
		"the largest counts": {measured(9, 99, 99, 9), Pair{-math.Log1p(99), math.Log1p(99)}, true},
		"of nothing":         {measured(0, 0), Pair{-50, 50}, false},
		"unmeasured":         {nil, Pair{-math.Log1p(20), math.Log1p(20)}, true},
		"unmeasured, sure":   {nil, Pair{-math.Log1p(20), math.Log1p(21)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			card := validCard()
			card.Measured, card.Calibration.Limits = c.measured, &c.limits
			if err := card.Validate(); !c.good {
				checkField(t, err, "calibration.limits")
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
