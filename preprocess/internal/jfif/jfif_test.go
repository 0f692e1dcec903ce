package jfif

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/jpeg"
	"os"
	"slices"
	"testing"
)

// encoded is a small JPEG.
func encoded(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewRGBA(image.Rect(0, 0, 40, 30)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestScan(t *testing.T) {
	t.Parallel()
	data := encoded(t)
	if info, err := Scan(data); err != nil || info != (Info{Components: 3, Width: 40, Height: 30, Refined: true, End: len(data) - 2}) {
		t.Fatalf("%+v, %v", info, err)
	}
	if _, err := Scan(append(bytes.Clone(data), "more"...)); err != nil {
		t.Fatalf("with bytes behind the end: %v", err)
	}
	for n := 4; n < len(data)-1; n++ {
		if _, err := Scan(data[:n]); err == nil {
			t.Fatalf("%d of %d bytes pass", n, len(data))
		}
	}
	if _, err := Scan(data[:len(data)-2]); !errors.Is(err, ErrTruncated) {
		t.Fatalf("without the end: %v", err)
	}
	if _, err := Scan([]byte("\xff\xd8\xff\xd9")); err == nil {
		t.Fatal("no picture passes")
	}
}

// TestStrayBytes: some cameras leave zeros between segments. Decoders and
// browsers skip them; here such pictures were refused.
func TestStrayBytes(t *testing.T) {
	t.Parallel()
	data := encoded(t)
	first := 4 + int(binary.BigEndian.Uint16(data[4:])) // segments begin behind the two bytes of the start
	stray := slices.Concat(data[:first], []byte("\x00\x00\xff\x00"), data[first:])
	if info, err := Scan(stray); err != nil || info.Width != 40 {
		t.Fatalf("%+v, %v", info, err)
	}
}

func TestInks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Info{
		"cmyk-adobe.jpg": {Components: 4, Width: 96, Height: 64, Adobe: true, Refined: true, End: 736},
		"cmyk-plain.jpg": {Components: 4, Width: 96, Height: 64, Refined: true, End: 720},
	} {
		data, err := os.ReadFile("../../decode/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := Scan(data); err != nil || info != want {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
		if info, err := Scan(MarkAdobe(data)); err != nil || !info.Adobe {
			t.Errorf("%s, marked: %+v, %v", name, info, err)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add(encoded(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		if info, err := Scan(data); err == nil && info.Components == 0 {
			t.Fatal("a picture without components")
		}
	})
}
