//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// TestPNGWithoutEnd: what lacks its end chunk alone is shown by browsers, and was refused as
// damaged. What lacks pixels still is, wherever it was cut.
func TestPNGWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, extra := range map[string][]byte{"RGB": nil, "colour key": chunk("tRNS", []byte{0, 1, 0, 2, 0, 3})} {
		p := rawPNG{width: 96, height: 64, depth: 8, color: 2, extra: extra, pixel: func(x, y int) []byte {
			c := drawnColors()[x/48+y/32*2]
			return []byte{c.R, c.G, c.B}
		}}
		pixels := compressed(t, p.rows())
		half := len(pixels) / 2
		head := slices.Concat([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", p.header()), extra)
		first, second := chunk("IDAT", pixels[:half]), chunk("IDAT", pixels[half:])
		for behind, data := range map[string][]byte{
			"nothing":         slices.Concat(head, first, second),
			"half of the end": slices.Concat(head, first, second, []byte("\x00\x00\x00\x00IE")),
			"half of a text":  slices.Concat(head, first, second, chunk("tEXt", bytes.Repeat([]byte("x"), 50))[:30]),
		} {
			_, frames, err := decodeTest(t, data, preprocess.PNG, preprocess.DefaultLimits())
			if err != nil {
				t.Fatalf("%s, %s behind it: %v", name, behind, err)
			}
			frames[0].expect(t, drawnColors(), 2)
		}
		for missing, data := range map[string][]byte{
			"half":                    slices.Concat(head, first),
			"half, with an end":       slices.Concat(head, first, chunk("IEND", nil)),
			"a part of the last":      slices.Concat(head, first, second[:len(second)/2]),
			"a part of the first one": slices.Concat(head, first[:len(first)/2]),
			"all":                     head,
		} {
			if _, _, err := decodeTest(t, data, preprocess.PNG, preprocess.DefaultLimits()); err == nil {
				t.Errorf("%s, %s missing: it passes", name, missing)
			}
		}
	}
}
