//go:build gocv_specific_modules

package decode

import (
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// wantHEIC wants a file to show these colours.
func wantHEIC(t *testing.T, name string, file []byte, want quadrants) {
	t.Helper()
	_, frames, err := decodeTest(t, file, preprocess.HEIC, preprocess.DefaultLimits())
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	t.Run(name, func(t *testing.T) { frames[0].expect(t, want, 8) })
}

// TestHEICBrands: files whose major brand says only that they are pictures, as some phones and
// libraries write it, or what the library does not know, were refused as damaged.
func TestHEICBrands(t *testing.T) {
	t.Parallel()
	file := testdata(t, "orientation1.heic")
	for _, brand := range []string{"heic", "heix", "mif1", "msf1", "miaf", "heim", "heis"} {
		wantHEIC(t, brand, slices.Concat(file[:8], []byte(brand), file[12:]), drawnColors())
	}
}
