package preprocess_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"testing"
)

// field is an entry of a TIFF file's directory.
type field struct {
	Tag, Type    uint16 // of numbers of 16 bits (3), or 32 (4)
	Count, Value uint32
}

// greyWithAlpha is a white, opaque picture of greys of 16 bits with transparency, as TIFF.
func greyWithAlpha(t *testing.T, side uint32) []byte {
	t.Helper()
	var strip bytes.Buffer
	w := zlib.NewWriter(&strip)
	row := bytes.Repeat([]byte{0xff}, int(4*side))
	for range side {
		if _, err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const directory, fields = 8, 10
	data, err := binary.Append([]byte("II*\x00\x08\x00\x00\x00\x0a\x00"), binary.LittleEndian, [fields]field{
		{256, 4, 1, side}, {257, 4, 1, side}, {258, 3, 2, 16<<16 | 16}, {259, 3, 1, 8}, {262, 3, 1, 1},
		{273, 4, 1, directory + 2 + 12*fields + 4}, {277, 3, 1, 2}, {278, 4, 1, side}, {279, 4, 1, uint32(strip.Len())}, {338, 3, 1, 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(append(data, 0, 0, 0, 0), strip.Bytes()...)
}

// TestGreyWithAlphaKeepsTheLimitByItsPixels: scans of greys with transparency were called damaged from a quarter of the limit on, as
// OpenCV, which is told of their rows as of bytes, counted each pixel four times.
func TestGreyWithAlphaKeepsTheLimitByItsPixels(t *testing.T) {
	t.Parallel()
	opts := poolOptions(t, "decode")
	opts.Children = 1
	media, err := decodeBytes(t, newPool(t, opts), greyWithAlpha(t, 4500), "")
	if err != nil {
		t.Fatal(err)
	}
	if media.Width != 4500 || media.Height != 4500 || media.Frames[0].Pix[0] != 0xff {
		t.Errorf("%d by %d, of level %d", media.Width, media.Height, media.Frames[0].Pix[0])
	}
}
