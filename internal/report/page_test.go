package report

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"deepfaked/inference"
	"deepfaked/preprocess"
)

// sample is a report of a kind of file.
func sample(kind preprocess.Kind) *Document {
	d := &Document{
		ID: "det_01m8kfqgq2bj08m96q6xsk0070", CreatedAt: Timestamp(time.Unix(1, 0)), CompletedAt: Timestamp(time.Unix(2, 0)),
		Verdict: "real", Confidence: .75, MediaType: string(kind),
		Report: inference.Report{
			Assessment: inference.Unclear, ProbabilityFake: .63, LogOdds: .53, Threshold: .72, SupposedShare: .28, Sensitivity: inference.Balanced, Prior: .5,
			Thresholds: map[inference.Sensitivity]float64{inference.Strict: .88, inference.Balanced: .72, inference.Sensitive: .53},
			FileName:   "a & b <script>alert(1)</script>.bin", Size: 1234567, SHA256: strings.Repeat("ab", 32), Provider: "cpu",
			Reasons: []inference.Reason{{Code: inference.NoFace, Text: inference.NoFace.Text()}, {Code: inference.PartlyUnseen, Text: inference.PartlyUnseen.Text()}},
			Notes:   []inference.Note{{Code: preprocess.SoundSilent, Message: preprocess.SoundSilent.Message()}},
			Models:  []inference.ModelUsed{{Name: "one", Version: "0.1.0", SHA256: strings.Repeat("cd", 32)}},
			Timings: map[string]int64{"decode": 120_000, "judge": 1_500_000},
		},
	}
	face := inference.Piece{Box: []int{10, 20, 100, 120}, ProbabilityFake: .7}
	switch kind {
	case preprocess.Image:
		d.Format, d.Width, d.Height = "JPEG", 640, 480
		tiles := []inference.Tile{{Box: []int{0, 0, 448, 448}, ProbabilityFake: .2}, {Box: []int{192, 0, 448, 448}, ProbabilityFake: .8}}
		d.Findings = []inference.Finding{
			{Task: "image-synthesis", ProbabilityFake: .6, Pieces: []inference.Piece{{ProbabilityFake: .6, Tiles: tiles}}},
			{Task: "face-manipulation", ProbabilityFake: .7, Pieces: []inference.Piece{face}},
		}
	case preprocess.Video:
		d.Format, d.Width, d.Height, d.DurationSeconds = "MP4", 640, 480, 83.4
		frames := inference.Finding{Task: "image-synthesis", ProbabilityFake: .6}
		for i := range 40 {
			frames.Pieces = append(frames.Pieces, inference.Piece{AtSeconds: float64(2 * i), ProbabilityFake: float64(i) / 50})
		}
		d.Findings = []inference.Finding{frames, {Task: "face-manipulation", ProbabilityFake: .7, Pieces: []inference.Piece{face, face}}}
	case preprocess.Audio:
		d.Format, d.DurationSeconds = "FLAC", 8.1
		d.Findings = []inference.Finding{{Task: "speech-synthesis", ProbabilityFake: .999, Pieces: []inference.Piece{
			{DurationSeconds: 4, ProbabilityFake: .999}, {AtSeconds: 4.1, DurationSeconds: 4, ProbabilityFake: .3},
		}, Stretch: &inference.Stretch{StartSeconds: 4.1, EndSeconds: 8.1, ProbabilityFake: .83, Decides: true}}}
	}
	d.fill()
	return d
}

// read gives the text of a page, and sees that it needs nothing and runs nothing.
func read(t *testing.T, d *Document) string {
	t.Helper()
	page, err := d.Page()
	require.NoError(t, err)
	root, err := html.Parse(strings.NewReader(string(page)))
	require.NoError(t, err)
	var text strings.Builder
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			assert.NotContains(t, []string{"src", "href", "style", "srcset", "action"}, a.Key, n.Data)
			assert.False(t, strings.HasPrefix(a.Key, "on"), a.Key)
			assert.NotContains(t, a.Val, "NaN")
		}
		switch {
		case n.Type == html.ElementNode:
			assert.NotContains(t, []string{"script", "link", "img", "iframe", "object", "base", "form"}, n.Data)
		case n.Type == html.TextNode && n.Parent.Data == "style":
			sum := sha256.Sum256([]byte(n.Data))
			assert.Contains(t, PagePolicy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", "the style is the one that may be applied")
			assert.NotContains(t, n.Data, "url(")
		case n.Type == html.TextNode:
			text.WriteString(strings.TrimSpace(n.Data) + "\n")
		}
	}
	return text.String()
}

func TestPageSaysWhatTheReportSays(t *testing.T) {
	t.Parallel()
	for kind, words := range map[preprocess.Kind][]string{
		preprocess.Image: {"JPEG picture, 640 × 480 pixels", "The picture as a whole", "Part 2", "448 × 448 at 192, 0", "80\u00a0%", "Face A", "100 × 120 at 10, 20"},
		preprocess.Video: {"MP4 video, 640 × 480 pixels, 1:23.4 min", "Frames as a whole", "1:18.0", "The 16 highest of 40", "What lies between the 40 frames that were judged, of 1:23.4 min of video."},
		preprocess.Audio: {"FLAC sound, 8.1 s", "Speech", "0:04.1 to 0:08.1", "more than 99\u00a0%", "Sound in which no voice was found", "From 0:04.1 to 0:08.1 the sound speaks most for a fake: P(fake) 83\u00a0%. The finding rests on that part"},
	} {
		text := read(t, sample(kind))
		for _, want := range append(words, "Leans fake, but not enough to accuse", "63\u00a0%, short of the line of 72\u00a0% (sensitivity: balanced)",
			"strict 88\u00a0%", "balanced 72\u00a0%", "sensitive 53\u00a0%", "No face was found", "a & b <script>alert(1)</script>.bin", "1,234,567 bytes",
			strings.Repeat("ab", 32), strings.Repeat("cd", 32), "decoding 0.12 s, judging 1.50 s (cpu)", preprocess.SoundSilent.Message(),
			"real with a confidence of 0.75", "Never accuse anybody on this report alone.") {
			assert.Contains(t, text, want, kind)
		}
		assert.NotContains(t, text, inference.PartlyUnseen.Text(), "what that was is told")
	}
}

// Every assessment has words of its own, none of which say that a file is authentic.
func TestHeadlines(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range []struct {
		assessment inference.Assessment
		logOdds    float64
		want       string
	}{
		{inference.LikelyFake, 3, "Likely fake"},
		{inference.Unclear, .5, "Leans fake, but not enough to accuse"},
		{inference.Unclear, -.5, "Unclear: there is too little to go by"},
		{inference.NoSignOfFake, -3, "No sign of a fake was found"},
		{inference.NotApplicable, 0, "Nothing in it that could be judged"},
	} {
		d := sample(preprocess.Image)
		d.Assessment, d.LogOdds = c.assessment, c.logOdds
		if c.assessment == inference.NotApplicable {
			d.Findings, d.Models = nil, nil
		}
		text := read(t, d)
		assert.Contains(t, text, c.want)
		assert.Equal(t, c.assessment != inference.NotApplicable, strings.Contains(text, "balanced 72\u00a0%"), "a bar where a line was drawn")
		assert.False(t, seen[d.headline()])
		seen[d.headline()] = true
	}
}

// What little may be known of a file is shown without what is not.
func TestPageOfLittle(t *testing.T) {
	t.Parallel()
	d := &Document{ID: "det_1", Report: inference.Report{Assessment: inference.NotApplicable}}
	d.fill()
	text := read(t, d)
	assert.Contains(t, text, "A file without a name")
	for _, absent := range []string{"Evidence", "Models", "SHA-256", "Duration", "Dimensions"} {
		assert.NotContains(t, text, absent)
	}
}

func TestNumbersForPeople(t *testing.T) {
	t.Parallel()
	for p, want := range map[float64]string{0: "0 %", .001: "less than 1 %", .014: "1 %", .5: "50 %", .994: "more than 99 %", .9999: "more than 99 %"} {
		assert.Equal(t, want, strings.ReplaceAll(percent(p), "\u00a0", " "), fmt.Sprint(p))
	}
	for s, want := range map[float64]string{0: "0:00.0", 4.04: "0:04.0", 59.96: "1:00.0", 61.25: "1:01.3", 3723: "62:03.0"} {
		assert.Equal(t, want, clock(s))
	}
}
