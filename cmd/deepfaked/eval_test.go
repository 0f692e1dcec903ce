//go:build gocv_specific_modules

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"deepfaked/inference"
	"deepfaked/preprocess"
)

// labelledFolder has genuine and fake files of each kind; what is genuine about
// them is their folder alone.
func labelledFolder(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	film := ffmpeg(t, "x.mp4", scene+"-t 2 -c:v libx264")
	for name, content := range map[string][]byte{
		"real/a.png": somePicture(t), "pictures/real/b.png": encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, picture(90, 70)) }),
		"fake/gan/c.png": encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, picture(400, 100)) }),
		"real/s.wav":     ffmpeg(t, "s.wav", spoken), "fake/t.wav": ffmpeg(t, "t.wav", spoken+"-af volume=0.5"), "real/v.mp4": film, "README.txt": []byte("notes"),
	} {
		place(t, dir, name, content)
	}
	return dir
}

func place(t testing.TB, dir, name string, content []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

// evaluated reads the JSON of a run; fields that are not of it are errors.
func evaluated(t testing.TB, out string) (r evalReport) {
	t.Helper()
	assert.Equal(t, 1, strings.Count(out, "\n"), "one object in a line: %s", out)
	decoder := json.NewDecoder(strings.NewReader(out))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&r))
	for kind, m := range r.Media {
		assert.Len(t, m.Points, 3, kind)
		above := figure(1)
		for _, level := range inference.Sensitivities() {
			p := m.Points[level]
			assert.LessOrEqual(t, p.Threshold, above)
			above = p.Threshold
		}
	}
	return r
}

// TestEval measures on synthesised media and draws.
func TestEval(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	dir, plots := labelledFolder(t), filepath.Join(t.TempDir(), "new", "plots")
	// A prior would move probabilities away from what both classes, weighing the
	// same, can come to: eval does without.
	expects := write(t, "config.yaml", []byte("prior: 0.001\n"))
	s := call(t, "eval", "--json", "--provider", "cpu", "--config", expects, "--plots", plots, dir)
	require.Equal(t, exitOK, s.code, s.err)
	assert.Equal(t, "deepfaked: 1 file is left out, because it is in no folder called real or fake\n", s.err)
	r := evaluated(t, s.out)
	assert.Equal(t, [2]int{6, 0}, [2]int{r.Files, r.Failed})
	counts := map[preprocess.Kind][2]int{}
	for kind, m := range r.Media {
		counts[kind] = [2]int{m.Real, m.Fake}
		assert.Equal(t, m.Fake == 0, m.AUCInterval == nil)
	}
	assert.Equal(t, map[preprocess.Kind][2]int{preprocess.Image: {2, 1}, preprocess.Audio: {1, 1}, preprocess.Video: {1, 0}}, counts)
	assert.Contains(t, s.out, `"video":{"real":1,"fake":0,"auc":null,"auc_ci95":null,"eer":null,"ece":null,"operating_points":{`)

	drawn, err := filepath.Glob(filepath.Join(plots, "*.png"))
	require.NoError(t, err)
	var names []string
	for _, path := range drawn {
		names = append(names, filepath.Base(path))
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		img, err := png.Decode(f)
		require.NoError(t, err, path)
		assert.GreaterOrEqual(t, img.Bounds().Dx(), 600, path)
	}
	assert.Equal(t, []string{
		"audio-det.png", "audio-histogram.png", "audio-reliability.png", "audio-roc.png",
		"image-det.png", "image-histogram.png", "image-reliability.png", "image-roc.png", "video-histogram.png",
	}, names)
	testIsTheService(t, dir, r)
}

// testIsTheService: the figures are those of what detect says of each file, at a
// sensitivity that was not the one asked for.
func testIsTheService(t *testing.T, dir string, r evalReport) {
	t.Helper()
	said := call(t, "detect", "--json", "--provider", "cpu", "--sensitivity", "sensitive", filepath.Join(dir, "real/s.wav"), filepath.Join(dir, "fake/t.wav")).ok(t)
	var rates, thresholds []float64
	for decoder := json.NewDecoder(strings.NewReader(said)); decoder.More(); {
		var j judged
		require.NoError(t, decoder.Decode(&j))
		rate := 0.
		if j.Verdict == inference.Fake {
			rate = 1
		}
		rates, thresholds = append(rates, rate), append(thresholds, j.Report.Threshold)
	}
	require.Len(t, rates, 2)
	p := r.Media[preprocess.Audio].Points[inference.Sensitive]
	assert.InDelta(t, rates[0], float64(p.FPR), 0)
	assert.InDelta(t, rates[1], float64(p.TPR), 0)
	assert.InDelta(t, (thresholds[0]+thresholds[1])/2, float64(p.Threshold), 1e-9)
}

// TestEvalDamaged: what can't be judged is told in a sentence each and counted,
// and the rest is measured. A pipe, which nobody writes to, used to be waited for.
func TestEvalDamaged(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	dir := t.TempDir()
	place(t, dir, "real/a.png", somePicture(t))
	place(t, dir, "fake/cut.png", somePicture(t)[:200])
	place(t, dir, "fake/notes.txt", []byte("notes"))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "fake", "pipe"), 0o600))
	require.NoError(t, os.Symlink("/nonexistent", filepath.Join(dir, "real", "gone.png")))
	table := call(t, "eval", "--provider", "cpu", dir)
	assert.Equal(t, exitFailed, table.code)
	lines := strings.Split(strings.TrimSpace(table.err), "\n")
	require.Len(t, lines, 4, table.err)
	for i, words := range [][]string{{"fake/cut.png", "damaged"}, {"fake/notes.txt", "not of a known"}, {"fake/pipe", "not a regular"}, {"real/gone.png", "no such file"}} {
		for _, w := range words {
			assert.Contains(t, lines[i], w)
		}
	}
	for _, want := range []string{"image", "5 files, 4 failed.", "image: no fake file was judged", "-"} {
		assert.Contains(t, table.out, want)
	}
	s := call(t, "eval", "--json", "--provider", "cpu", dir)
	assert.Equal(t, exitFailed, s.code)
	r := evaluated(t, s.out)
	assert.Equal(t, [3]int{5, 4, 1}, [3]int{r.Files, r.Failed, len(r.Media)})
}

// TestEvalLeavesNoOlderPlots: beside the histogram of a run without fakes there lay the ROC, the
// DET curve and the reliability of the run before, as if they were of this one, and of media
// that it had no files of, all. Other files of the folder stay.
func TestEvalLeavesNoOlderPlots(t *testing.T) {
	t.Parallel()
	plots := t.TempDir()
	c := evalCommand{Plots: plots}
	e := newEvaluation()
	for _, kind := range kinds {
		e.add(outcome(kind, .2, .9, .7, .4), false, "")
		e.add(outcome(kind, .8, .9, .7, .4), true, "")
	}
	require.NoError(t, c.draw(e))
	place(t, plots, "image-notes.png", nil)
	place(t, plots, "other-roc.png", nil)
	found, err := os.ReadDir(plots)
	require.NoError(t, err)
	require.Len(t, found, 14)
	e = newEvaluation()
	e.add(outcome(preprocess.Image, .2, .9, .7, .4), false, "")
	require.NoError(t, c.draw(e))
	found, err = os.ReadDir(plots)
	require.NoError(t, err)
	var names []string
	for _, f := range found {
		names = append(names, f.Name())
	}
	assert.Equal(t, []string{"image-histogram.png", "image-notes.png", "other-roc.png"}, names)
}

// TestEvalSaysWhatItCouldNotDraw: beside a file that failed, and of which all had been
// said, plots that could not be written were not mentioned.
func TestEvalSaysWhatItCouldNotDraw(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	dir, plots := t.TempDir(), t.TempDir()
	place(t, dir, "real/a.png", somePicture(t))
	place(t, dir, "fake/notes.txt", []byte("notes"))
	place(t, plots, "image-histogram.png/in the way", nil)
	s := call(t, "eval", "--provider", "cpu", "--plots", plots, dir)
	assert.Equal(t, exitFailed, s.code)
	assert.Contains(t, s.err, "fake/notes.txt")
	assert.Contains(t, s.err, "image-histogram.png")
}

// TestEvalIsPatient: the settings by which a busy service tells clients to come back
// made eval leave out what was slow, as more files were begun than had found places.
func TestEvalIsPatient(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	dir := t.TempDir()
	place(t, dir, "config.yaml", []byte("inference: {wait: 10ms, burst: 10ms}\n"))
	for i := range 24 {
		place(t, dir, fmt.Sprintf("real/%d.wav", i), hum(10))
	}
	s := call(t, "eval", "--json", "--provider", "cpu", "--config", filepath.Join(dir, "config.yaml"), dir)
	assert.Equal(t, exitOK, s.code, s.err)
	r := evaluated(t, s.out)
	assert.Equal(t, [2]int{24, 0}, [2]int{r.Files, r.Failed})
}

// TestEvalInterrupted: figures of the files that were judged until then would be
// taken for those of all.
func TestEvalInterrupted(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	dir := t.TempDir()
	place(t, dir, "real/film.mp4", longFilm(t))
	for i := range 9 {
		place(t, dir, "fake/"+string(rune('a'+i))+".png", somePicture(t))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, err bytes.Buffer
	code := make(chan int, 1)
	go func() { code <- run(ctx, []string{"eval", "--provider", "cpu", dir}, &out, &err) }()
	decoding(t, filepath.Join(dir, "real", "film.mp4"))
	cancel()
	assert.Equal(t, exitFailed, <-code)
	assert.Equal(t, "deepfaked: interrupted\n", err.String())
	assert.Empty(t, out.String())
}

// TestEvalRealMedia: on speech from the world outside the built-in model is worth
// something. It is not part of the repository.
func TestEvalRealMedia(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	data, heldOut := realMedia(t)
	dir := t.TempDir()
	for archive, n := range map[string]int{"images.tar": 12, "speech.tar": 12, "video.tar": 5} {
		for _, class := range []string{folderReal, folderFake} {
			for name, content := range firstIn(t, filepath.Join(data, archive), class+"/", n, heldOut) {
				place(t, dir, filepath.Join(archive, class, name), content)
			}
		}
	}
	r := evaluated(t, call(t, "eval", "--json", "--provider", "cpu", dir).ok(t))
	assert.Zero(t, r.Failed)
	for _, kind := range []preprocess.Kind{preprocess.Image, preprocess.Audio} {
		m := r.Media[kind]
		assert.Positive(t, m.Real, kind)
		assert.Positive(t, m.Fake, kind)
		require.NotNil(t, m.AUCInterval)
		assert.Less(t, m.AUCInterval[0], m.AUCInterval[1])
		t.Logf("%s: %d genuine, %d fake, AUC %s", kind, m.Real, m.Fake, m.AUC)
	}
	assert.Greater(t, r.Media[preprocess.Audio].AUC, figure(.5))
}
