//go:build gocv_specific_modules

package preprocess_test

import (
	"image/color"
	"testing"

	"deepfaked/preprocess"
)

func TestStillsThroughThePool(t *testing.T) {
	t.Parallel()
	pool := newPool(t, poolOptions(t, "decode"))
	orange := color.NRGBA{R: 230, G: 120, B: 20, A: 255}
	for _, test := range []struct {
		name   string
		data   []byte
		format string
	}{
		{"JPEG", encodeJPEG(t, plain(300, 200, orange)), "JPEG"},
		{"PNG", encodePNG(t, plain(300, 200, orange)), "PNG"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			media, err := decodeBytes(t, pool, test.data, preprocess.Image)
			if err != nil {
				t.Fatal(err)
			}
			if media.Format != test.format || media.Width != 300 || media.Height != 200 || len(media.Frames) != 1 {
				t.Fatalf("got %s, %d by %d, %d frames", media.Format, media.Width, media.Height, len(media.Frames))
			}
			pix := media.Frames[0].Pix
			for i := 0; i < len(pix); i += 3 {
				if apart(pix[i], 230) > 4 || apart(pix[i+1], 120) > 4 || apart(pix[i+2], 20) > 4 {
					t.Fatalf("pixel %d is %v", i/3, pix[i:i+3])
				}
			}
		})
	}
}

// apart is the distance of two values.
func apart(a, b byte) int { return max(int(a)-int(b), int(b)-int(a)) }
