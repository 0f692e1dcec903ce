//go:build gocv_specific_modules

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/report"
)

// TestDetectWritesReports: as the service would have them, signed where a key is named, and none takes another's place.
func TestDetectWritesReports(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	private, err := report.NewKey()
	require.NoError(t, err)
	signer, err := report.NewSigner(private)
	require.NoError(t, err)
	key, public := write(t, "private.pem", private), write(t, "public.pem", signer.PublicKey().PEM())
	one, two, text := write(t, "x.png", somePicture(t)), write(t, "x.png", somePicture(t)), write(t, "notes.txt", []byte("notes"))
	dir := filepath.Join(t.TempDir(), "new", "reports")
	s := call(t, "detect", "--provider", "cpu", "--report", dir, "--report-key", key, one, text, two)
	assert.Equal(t, exitFailed, s.code, "a file could not be judged")
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = filepath.Base(f)
	}
	slices.Sort(names)
	require.Equal(t, []string{"x.png-2.report.html", "x.png-2.report.json", "x.png.report.html", "x.png.report.json"}, names)
	for _, name := range []string{"x.png.report", "x.png-2.report"} {
		data, err := os.ReadFile(filepath.Join(dir, name+".json"))
		require.NoError(t, err)
		fitsReport(t, string(data))
		page, err := os.ReadFile(filepath.Join(dir, name+".html"))
		require.NoError(t, err)
		for _, want := range []string{signer.PublicKey().Fingerprint(), "<bdi>x.png</bdi>, PNG picture, 300 × 240 pixels"} {
			assert.True(t, strings.Contains(string(page), want), want)
		}
		call(t, "verify", "--public-key", public, filepath.Join(dir, name+".json"), one).ok(t)
	}
	call(t, "detect", "--provider", "cpu", "--report", dir, one).ok(t)
	unsigned := call(t, "verify", filepath.Join(dir, "x.png.report.json"), one)
	assert.Equal(t, exitFailed, unsigned.code)
	assert.Contains(t, unsigned.out, "is not signed")
	call(t, "detect", "--report", one, one).refused(t, exitFailed, "make the folder of reports")
	call(t, "detect", "--report", dir, "--report-key", text, one).refused(t, exitFailed, "no private key in PEM")
}
