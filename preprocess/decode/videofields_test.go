//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"deepfaked/preprocess"
)

// bitWriter writes what H.264 consists of.
type bitWriter struct {
	data []byte
	used int // bits of the last byte
}

func (w *bitWriter) bits(n, value int) {
	for n--; n >= 0; n-- {
		if w.used%8 == 0 {
			w.data, w.used = append(w.data, 0), 0
		}
		w.data[len(w.data)-1] |= byte(value>>n&1) << (7 - w.used)
		w.used++
	}
}

// golomb writes numbers as clause 9.1 has them.
func (w *bitWriter) golomb(values ...int) {
	for _, v := range values {
		zeros := 0
		for (v+1)>>(zeros+1) > 0 {
			zeros++
		}
		w.bits(2*zeros+1, v+1)
	}
}

func (w *bitWriter) align() { w.used = 8 }

// unit ends what was written, behind a start code.
func (w *bitWriter) unit(head byte) []byte {
	w.bits(1, 1)
	unit, zeros := []byte{0, 0, 0, 1, head}, 0
	for _, b := range w.data {
		if zeros >= 2 && b <= 3 {
			unit, zeros = append(unit, 3), 0
		}
		if unit = append(unit, b); b == 0 {
			zeros++
		} else {
			zeros = 0
		}
	}
	return unit
}

// interlaced is H.264 of 32 by 64 pixels, each picture in two halves, and stored as it is, without
// coding. Every tenth is a key frame.
func interlaced(pictures, references int) []byte {
	var sps, pps bitWriter
	sps.bits(24, 77<<16|30)
	sps.golomb(0, 0, 0, 4, references)
	sps.bits(1, 0)
	sps.golomb(1, 1)
	sps.bits(5, 0b00100)
	pps.golomb(0, 0)
	pps.bits(2, 0)
	pps.golomb(0, 0, 0)
	pps.bits(3, 0)
	pps.golomb(0, 0, 0)
	pps.bits(3, 0b100)
	head := append(sps.unit(0x67), pps.unit(0x68)...)
	var film []byte
	for n := range pictures {
		if n%10 == 0 {
			film = append(film, head...)
		}
		film = append(append(film, halfPicture(n, 0)...), halfPicture(n, 1)...)
	}
	return film
}

// halfPicture is every other line of a picture, of which none is like another.
func halfPicture(n, bottom int) []byte {
	var w bitWriter
	w.golomb(0, 7, 0)
	w.bits(6, n%10<<2|2|bottom)
	head := byte(0x61)
	if n%10 == 0 && bottom == 0 {
		w.golomb(n / 10 % 4)
		head = 0x65
	}
	w.bits(8, 2*(n%10)+bottom)
	if head == 0x65 {
		w.bits(1, 0)
	}
	w.bits(1, 0)
	w.golomb(0, 1)
	for block := range 4 {
		w.golomb(25)
		w.align()
		for i := range 256 {
			x, y := block%2*16+i%16, 2*(block/2*16+i/16)+bottom
			w.data = append(w.data, byte(16+(x*7+y*53+n*11^y*37*(x/8+n))%200))
		}
		w.data = append(w.data, bytes.Repeat([]byte{128}, 128)...)
	}
	return w.unit(head)
}

// TestWholeOnly: the settings that encoders write rule halves out or not, and what was cut off doesn't.
func TestWholeOnly(t *testing.T) {
	t.Parallel()
	for profile, wide := range map[int]bool{77: false, 100: true} {
		for order := range 3 {
			for whole := range 2 {
				var sps bitWriter
				sps.bits(24, profile<<16|30)
				sps.golomb(0)
				if wide {
					sps.golomb(1, 0, 0)
					sps.bits(2, 0)
				}
				sps.golomb(3, order)
				if order == 0 {
					sps.golomb(2)
				}
				sps.golomb(4)
				sps.bits(1, 0)
				sps.golomb(119, 67)
				sps.bits(2, whole<<1|1)
				unit := sps.unit(0x67)[4:]
				if got := wholeOnly(unit); got != (whole == 1 && order != 1) {
					t.Errorf("profile %d, order %d: %v for %d", profile, order, got, whole)
				}
				for n := range 4 {
					if wholeOnly(unit[:n]) {
						t.Errorf("of %d bytes", n)
					}
				}
			}
		}
	}
}

// TestHalvesInPacketsOfTheirOwn: interlaced recordings that were copied out of a transport stream hold a
// packet for each half of a picture. Those of H.264 were refused, since the halves that begin key
// frames were decoded alone, or all but a few pictures were missing.
func TestHalvesInPacketsOfTheirOwn(t *testing.T) {
	t.Parallel()
	film, copied := interlaced(240, 4), []string{"-c", "copy"}
	for name, tc := range map[string]struct {
		film   []byte
		format preprocess.Format
		copied []string
	}{
		"x.mkv":    {film, preprocess.Matroska, copied},
		"x.mp4":    {film, preprocess.MP4, copied},
		"x.avi":    {film, preprocess.AVI, copied},
		"one.mkv":  {interlaced(240, 1), preprocess.Matroska, copied},                                      // FFmpeg calls every half a key frame
		"torn.mkv": {film, preprocess.Matroska, append(copied, "-bsf:v", "noise=amount=0:drop=eq(n\\,6)")}, // one half is missing
	} {
		dir := t.TempDir()
		raw, path := filepath.Join(dir, "x.h264"), filepath.Join(dir, name)
		if err := os.WriteFile(raw, tc.film, 0o600); err != nil {
			t.Fatal(err)
		}
		ffmpeg(t, slices.Concat([]string{"-r", "50", "-i", raw}, tc.copied, []string{path})...)
		pictures := ffmpeg(t, "-i", raw, "-vsync", "passthrough", "-pix_fmt", "rgb24", "-f", "rawvideo", "-")
		d, err := decodePath(t, path, tc.format, inMotion())
		if err != nil || len(d.arena.Frames()) != 16 || len(d.arena.Stretches()) != 4 || d.Notes != nil {
			t.Fatalf("%s: %d frames and %d stretches, notes %q, %v", name, len(d.arena.Frames()), len(d.arena.Stretches()), d.Notes, err)
		}
		for i, ref := range d.arena.Frames() {
			if off := apart(pictures, d.pixels(t, i).pix); off > 2 {
				t.Errorf("%s: frame %d at %v is none of the film: %.1f off", name, i, ref.At, off)
			}
			if ref.At.Round(time.Millisecond)%(40*time.Millisecond) != 0 {
				t.Errorf("%s: frame %d is at %v, amid a picture", name, i, ref.At)
			}
		}
	}
}
