//go:build gocv_specific_modules

package preprocess_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image/color"
	"slices"
	"sync"
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

// TestAFullOutputIsTheServicesFault: a client read that its file was damaged when
// the output was configured too small for it.
func TestAFullOutputIsTheServicesFault(t *testing.T) {
	t.Parallel()
	opts := poolOptions(t, "decode")
	opts.OutputBytes = 1 << 20
	_, err := decodeBytes(t, newPool(t, opts), encodePNG(t, plain(1280, 720, color.White)), "")
	if fault := (*preprocess.Error)(nil); !errors.Is(err, preprocess.ErrOutputFull) || errors.As(err, &fault) {
		t.Fatalf("got %v", err)
	}
}

// TestManyPicturesAtATime decodes 32 pictures of shades of their own.
func TestManyPicturesAtATime(t *testing.T) {
	t.Parallel()
	opts := poolOptions(t, "decode")
	opts.Recycle = 7
	pool := newPool(t, opts)
	var wg sync.WaitGroup
	for i := range 32 {
		shade := byte(8 * i)
		data := encodePNG(t, plain(200, 100, color.Gray{Y: shade}))
		f := file(t, data)
		wg.Go(func() {
			media, err := pool.Decode(t.Context(), f, int64(len(data)), "", nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer media.Close()
			if got := media.Frames[0].Pix[30_000]; apart(got, shade) > 2 {
				t.Errorf("shade %d came back as %d", shade, got)
			}
		})
	}
	wg.Wait()
}

// TestZipBomb: pixels that inflate to far more than the picture needs are not
// inflated, or not kept.
func TestZipBomb(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range 300 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	chunk := func(kind string, body []byte) []byte {
		out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
		out = append(append(out, kind...), body...)
		return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
	}
	header := []byte("\x89PNG\r\n\x1a\n")
	size := []byte{0, 0, 0, 10, 0, 0, 0, 10, 8, 2, 0, 0, 0}
	data := slices.Concat(header, chunk("IHDR", size), chunk("IDAT", b.Bytes()), chunk("IEND", nil))
	opts := poolOptions(t, "decode")
	if !raceDetector {
		opts.MemoryBytes = 2300 << 20 // a few hundred megabytes beyond the libraries
	}
	media, err := decodeBytes(t, newPool(t, opts), data, "")
	if err != nil {
		fault(t, err, preprocess.UnsupportedMediaType, "PNG")
	} else if media.Width != 10 || media.Frames[0].Pix[0] > 2 {
		t.Fatalf("got %d pixels of width", media.Width)
	}
}

// apart is the distance of two values.
func apart(a, b byte) int { return max(int(a)-int(b), int(b)-int(a)) }
