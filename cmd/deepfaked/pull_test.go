//go:build gocv_specific_modules

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"deepfaked/models"
	"deepfaked/models/adapt"
	"deepfaked/models/catalogue"
	"deepfaked/models/convert"
	"deepfaked/models/fetch"
)

// published are the files of an entry that exists for the tests alone.
var published = map[string][]byte{"weights.pth": []byte("published weights"), "LICENSE": []byte("the terms")}

// market is a puller whose one detector is on a server of the test, with a
// conversion that makes a built-in model out of it.
type market struct {
	puller
	command modelsPull
	data    string
	mirror  string
}

func newMarket(t *testing.T, handle http.Handler) *market {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	entry := catalogue.Entry{
		Name: "bought-speech", Task: models.SpeechSynthesis, Description: "For tests.", Convert: "bought",
		Figures: []catalogue.Figure{{Text: "EER 1 %", Source: "https://paper"}},
		Licence: catalogue.Licence{Name: "MIT", URL: "https://terms"},
	}
	m := &market{data: t.TempDir(), mirror: t.TempDir()}
	for name, content := range published {
		sum := sha256.Sum256(content)
		entry.Files = append(entry.Files, catalogue.File{
			Name: name, Mirror: "folder/" + name, URL: server.URL + "/" + name, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content)),
		})
	}
	m.puller = puller{entries: []catalogue.Entry{entry}, fetch: fetch.DefaultOptions(), cache: t.TempDir(), convert: bought}
	t.Cleanup(m.fetch.Client.CloseIdleConnections)
	m.ask, m.check = func(string) (bool, error) { return true, nil }, func(context.Context) error { return nil }
	provider := "cpu"
	m.command = modelsPull{Name: entry.Name}
	m.command.Data, m.command.Provider = &m.data, &provider
	require.NoError(t, os.Mkdir(filepath.Join(m.mirror, "folder"), 0o750))
	return m
}

// bought is the conversion: it makes a model only where the files are.
func bought(_ context.Context, name, source, out string) error {
	weights, err := os.ReadFile(filepath.Join(source, "weights.pth"))
	if err != nil || name != "bought" || !bytes.Equal(weights, published["weights.pth"]) {
		return errors.New("the converter was not given what it needs")
	}
	return writeLie(out, "bought-speech", func(*models.Card) {})
}

func shop() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := published[filepath.Base(r.URL.Path)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	})
}

// written is where somebody reads along.
type written func(text []byte)

func (w written) Write(text []byte) (int, error) {
	w(text)
	return len(text), nil
}

// TestPullInterruptedTooLate: a model that was in its place already was said to be
// added, and then the command failed as interrupted.
func TestPullInterruptedTooLate(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	m := newMarket(t, shop())
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out := written(func(text []byte) {
		if bytes.HasPrefix(text, []byte("Added bought-speech")) {
			interrupt()
		}
	})
	require.NoError(t, m.pull(ctx, &m.command, streams{out: out, err: &bytes.Buffer{}}))
	require.Error(t, ctx.Err())
	assert.DirExists(t, filepath.Join(m.data, "models", "bought-speech"))
}

// TestPullEndsWithItsTerminal: a closed connection ended the program at once, and left what it was
// making, up to 6 GB of Python packages. Under nohup a pull goes on.
func TestPullEndsWithItsTerminal(t *testing.T) { //nolint:paralleltest // signals are of the whole process
	hung := make(chan os.Signal, 1)
	signal.Notify(hung, unix.SIGHUP) // or else a failure would end the tests
	defer signal.Reset(unix.SIGHUP)
	m := newMarket(t, shop())
	m.convert = func(ctx context.Context, _, _, _ string) error {
		assert.NoError(t, unix.Kill(os.Getpid(), unix.SIGHUP))
		<-hung
		select {
		case <-ctx.Done():
		case <-time.After(patience):
			return errors.New("it went on")
		}
		signal.Stop(hung) // from here on a failure ends the tests
		<-time.After(50 * time.Millisecond)
		assert.NoError(t, unix.Kill(os.Getpid(), unix.SIGHUP)) // of the system, after that of the shell
		<-time.After(50 * time.Millisecond)
		return ctx.Err()
	}
	_, err := m.buy(t)
	require.ErrorIs(t, err, errInterrupted)
	signal.Ignore(unix.SIGHUP)
	assert.Equal(t, []os.Signal{os.Interrupt, unix.SIGTERM}, interrupts())
}

// buy runs the command, and returns what it said.
func (m *market) buy(t *testing.T) (string, error) {
	t.Helper()
	var out, log bytes.Buffer
	err := m.pull(t.Context(), &m.command, streams{out: &out, err: &log})
	assert.Empty(t, log.String(), "no bar where there is no terminal")
	return out.String(), err
}

// TestPull: from the address to a service's models, with the licence.
func TestPull(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	m := newMarket(t, shop())
	said, err := m.buy(t)
	require.NoError(t, err)
	for _, w := range []string{"bought-speech", "EER 1 %", "https://paper", "MIT", "https://terms", "/weights.pth", filepath.Join(m.data, "models")} {
		assert.Contains(t, said, w)
	}
	terms, err := os.ReadFile(filepath.Join(m.data, "models", "bought-speech", "LICENSE"))
	require.NoError(t, err)
	assert.Equal(t, "the terms", string(terms))
	list := call(t, "models", "list", "--data", m.data).ok(t)
	assert.Contains(t, list, "bought-speech")
	left, err := os.ReadDir(filepath.Join(m.cache, "downloads"))
	require.NoError(t, err)
	assert.Empty(t, left, "the downloads are left")
	_, err = m.buy(t)
	assert.ErrorContains(t, err, "--replace")
	m.command.Replace = true
	_, err = m.buy(t)
	assert.NoError(t, err)
}

// TestPullTwiceAtOnce: of two pulls of one model the first to end took the files of the other away,
// which failed in the middle of its conversion or of a download.
func TestPullTwiceAtOnce(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	m := newMarket(t, shop())
	converting, goOn := make(chan struct{}), make(chan struct{})
	other := *m
	other.convert = func(ctx context.Context, name, source, out string) error {
		close(converting)
		<-goOn
		return bought(ctx, name, source, out)
	}
	first := make(chan error)
	go func() {
		first <- other.pull(t.Context(), &other.command, streams{out: &bytes.Buffer{}, err: &bytes.Buffer{}})
	}()
	<-converting
	_, err := m.buy(t)
	assert.ErrorContains(t, err, "another pull of bought-speech is under way")
	close(goOn)
	require.NoError(t, <-first)
	m.command.Replace = true
	_, err = m.buy(t)
	assert.NoError(t, err, "the claim has ended")
}

// TestPullFromMirror needs no network at all.
func TestPullFromMirror(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	m := newMarket(t, http.NotFoundHandler())
	m.command.Mirror = m.mirror
	for name, content := range published {
		require.NoError(t, os.WriteFile(filepath.Join(m.mirror, "folder", name), content, 0o600))
	}
	_, err := m.buy(t)
	assert.NoError(t, err)
}

func TestPullIsRefused(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	bad := func(change func(*models.Card)) func(*market) {
		return func(m *market) {
			m.convert = func(_ context.Context, _, _, out string) error { return writeLie(out, "bought-speech", change) }
		}
	}
	for name, test := range map[string]struct {
		spoil func(*market)
		words []string
	}{
		"unknown":       {func(m *market) { m.command.Name = "bougt-speech" }, []string{"bougt-speech", "did you mean bought-speech?"}},
		"no use":        {func(m *market) { m.entries[0].Task = "video-landmarks" }, []string{"bought-speech", "video-landmarks"}},
		"nobody to ask": {func(m *market) { m.ask = func(string) (bool, error) { return false, errNobody } }, []string{"MIT", "--accept-licence", "https://terms"}},
		"not accepted":  {func(m *market) { m.ask = func(string) (bool, error) { return false, nil } }, []string{"not accepted"}},
		"wrong bytes":   {func(m *market) { m.entries[0].Files[0].SHA256 = "00" }, []string{"SHA-256", "not used"}},
		"no such file":  {func(m *market) { m.entries[0].Files[0].URL += "x" }, []string{"404"}},
		"no network":    {func(m *market) { m.entries[0].Files[0].URL = "http://127.0.0.1:1/x" }, []string{"127.0.0.1:1 could not be reached", "--mirror DIR", "folder/"}},
		"not in mirror": {func(m *market) { m.command.Mirror = m.mirror }, []string{"the mirror has no", "folder"}},
		"failed": {func(m *market) {
			m.convert = func(context.Context, string, string, string) error { return errors.New("It failed.") }
		}, []string{"It failed."}},
		"another name": {func(m *market) {
			m.convert = func(_ context.Context, _, _, out string) error { return writeLie(out, "else", func(*models.Card) {}) }
		}, []string{"bought-speech", "else"}},
		"without licence":  {bad(func(c *models.Card) { c.Licences.Weights = "" }), []string{"licences.weights"}},
		"wrong self-test":  {bad(func(c *models.Card) { c.Golden.Output++ }), []string{"golden.output"}},
		"wrong input name": {bad(func(c *models.Card) { c.Input.Name = "x" }), []string{"input.name"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t, shop())
			test.spoil(m)
			_, err := m.buy(t)
			for _, w := range test.words {
				assert.ErrorContains(t, err, w)
			}
			_, err = os.Stat(filepath.Join(m.data, "models", "bought-speech"))
			assert.ErrorIs(t, err, os.ErrNotExist)
		})
	}
}

// TestPullDownloadsNothingInVain: that ONNX Runtime was missing, or that nobody may write to the
// models folder, was found out after all downloads and the conversion, and after the downloads that Python was.
func TestPullDownloadsNothingInVain(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	for name, test := range map[string]struct {
		spoil func(*market)
		say   string
	}{
		"no ONNX Runtime": {func(m *market) { m.command.ONNXRuntime = new("/nonexistent/libonnxruntime.so") }, "/nonexistent/libonnxruntime.so"},
		"no folder": {func(m *market) {
			require.NoError(t, os.Symlink("/nonexistent/models", filepath.Join(m.data, "models")))
		}, "write to the models folder"},
		"no Python": {func(m *market) { m.check = noPython(t) }, "python3 was not found"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s", r.URL) }))
			test.spoil(m)
			_, err := m.buy(t)
			assert.ErrorContains(t, err, test.say)
		})
	}
}

// noPython is the real check on a machine without an interpreter.
func noPython(t *testing.T) func(context.Context) error {
	t.Helper()
	scripts := os.DirFS(filepath.Dir(write(t, "requirements.txt", nil)))
	return func(ctx context.Context) error {
		return convert.Check(ctx, convert.Options{Scripts: scripts, Cache: t.TempDir(), Python: "/nonexistent/python3", Log: &bytes.Buffer{}})
	}
}

// TestPullNeedsTheLicence: the real command, with nobody at the terminal.
func TestPullNeedsTheLicence(t *testing.T) {
	t.Parallel()
	s := call(t, "models", "pull", "--data", t.TempDir(), "aasist")
	s.refused(t, exitFailed, "licence MIT of aasist", "--accept-licence")
	assert.Contains(t, s.out, "EER 0.83 %")
	call(t, "models", "pull", "--data", t.TempDir(), "asist").refused(t, exitFailed, "did you mean aasist")
}

// TestPullAdapts: the entries that are published as ONNX become models without
// Python. Their files are out of reach here: a graph of the same signature
// stands for them, which gives the mean of its normalised input.
func TestPullAdapts(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	graph, err := os.ReadFile(filepath.Join("testdata", "published.onnx"))
	require.NoError(t, err)
	all, err := catalogue.All()
	require.NoError(t, err)
	for _, name := range []string{"sieve", "community-forensics"} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t, http.NotFoundHandler())
			entry, err := catalogue.Find(all, name)
			require.NoError(t, err)
			sum := sha256.Sum256(graph)
			file := &entry.Files[0]
			file.SHA256, file.Bytes, file.Mirror = hex.EncodeToString(sum[:]), int64(len(graph)), "folder/published.onnx"
			m.entries, m.command.Name, m.command.Mirror = []catalogue.Entry{entry}, name, m.mirror
			m.check, m.convert = nil, nil // must not be called
			require.NoError(t, os.WriteFile(filepath.Join(m.mirror, "folder", "published.onnx"), graph, 0o600))
			said, err := m.buy(t)
			require.NoError(t, err)
			assert.Contains(t, said, "nobody here has run it")
			found, err := models.Scan(filepath.Join(m.data, "models"))
			require.NoError(t, err)
			assert.InDelta(t, normalised(entry.Adapt.Spec), found[0].Model.Card.Golden.Output, 1e-4)
			judged := call(t, "detect", "--provider", "cpu", "--json", "--data", m.data, write(t, "x.png", somePicture(t))).ok(t)
			assert.Contains(t, judged, name)
		})
	}
}

// normalised is the mean of the self-test's row as the published graph sees it.
func normalised(spec adapt.Spec) (mean float64) {
	row := models.Row{U8: make([]byte, spec.Side*spec.Side*3)}
	models.Golden{Pattern: "lcg"}.Fill(row)
	for i, p := range row.U8 {
		mean += (float64(p)/255 - spec.Mean[i%3]) / spec.Std[i%3]
	}
	return mean / float64(len(row.U8))
}

func TestCatalogueIsListed(t *testing.T) {
	t.Parallel()
	out := call(t, "models", "catalogue").ok(t)
	for _, w := range []string{"aasist", "MIT", "BSD-3-Clause", "1.3 MB", "not run by us", "face-motion", "converted by us",
		"Measured by this project: AUC 0.60 [0.51, 0.69] on 89 genuine and 135 fake recordings of the training archives",
	} {
		assert.Contains(t, out, w)
	}
	assert.Equal(t, "listed only", state(catalogue.Entry{Name: "else", Task: "weather", Convert: "else"}))
}

// TestDescribeTellsOurFigures: beside its authors' figures stands what was measured here.
func TestDescribeTellsOurFigures(t *testing.T) {
	t.Parallel()
	all, err := catalogue.All()
	require.NoError(t, err)
	for name, want := range map[string]string{
		"aasist-l": "\n  measured by this project: AUC 0.60 [0.51, 0.69] on 89 genuine and 135 fake recordings of the training archives, none of them held out\n",
		"meso4-df": "fake clips of gathered repositories and of the training archives, none of them held out; no skill was shown there\n",
	} {
		entry, err := catalogue.Find(all, name)
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, describe(&out, entry))
		assert.Contains(t, out.String(), "its authors state")
		assert.Contains(t, out.String(), want)
	}
}
