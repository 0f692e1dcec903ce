package heif

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
)

// testdata reads a drawn file.
func testdata(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../decode/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestTransforms compares with what the encoders were asked for. The two of
// them may say the same turn differently; each of these was read off once and
// holds because the decoded pictures are upright.
func TestTransforms(t *testing.T) {
	t.Parallel()
	for orientation := 1; orientation <= 8; orientation++ {
		for _, ext := range []string{"heic", "avif"} {
			data := testdata(t, fmt.Sprintf("orientation%d.%s", orientation, ext))
			info, err := Read(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			turned := orientation >= 5
			if wide := info.Width > info.Height; wide == turned {
				t.Errorf("orientation %d of %s: stored as %d by %d", orientation, ext, info.Width, info.Height)
			}
			mirrored := slices.ContainsFunc(info.Transforms, func(t Transform) bool { return t.Mirror != NoMirror })
			if want := slices.Contains([]int{2, 4, 5, 7}, orientation); mirrored != want {
				t.Errorf("orientation %d of %s: %+v", orientation, ext, info.Transforms)
			}
		}
	}
}

func TestColor(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Color{
		"bt709-limited.heic": {Declared: true, Matrix: 1},
		"orientation1.heic":  {Declared: true, Matrix: 6, FullRange: true},
	} {
		data := testdata(t, name)
		info, err := Read(bytes.NewReader(data), int64(len(data)))
		if err != nil || info.Color != want {
			t.Errorf("%s: %+v, %v", name, info.Color, err)
		}
	}
}

func TestTruncated(t *testing.T) {
	t.Parallel()
	data := testdata(t, "orientation6.heic")
	coded := bytes.Index(data, []byte("mdat"))
	for n := 32; n < len(data); n++ {
		if n >= coded-4 && n < coded+4 {
			continue // no box begins; the decoder misses what is not there at all
		}
		if _, err := Read(bytes.NewReader(data[:n]), int64(n)); err == nil {
			t.Fatalf("%d of %d bytes pass", n, len(data))
		}
	}
	behind := append(bytes.Clone(data), "rubbish"...)
	if _, err := Read(bytes.NewReader(behind), int64(len(behind))); err != nil {
		t.Errorf("rubbish behind everything: %v", err)
	}
	if _, err := Read(bytes.NewReader(data[:28]), 28); !errors.Is(err, ErrNoPicture) {
		t.Errorf("no description: %v", err)
	}
}

// in is a box of that body.
func in(kind string, body ...[]byte) []byte {
	whole := slices.Concat(body...)
	return slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(8+len(whole))), []byte(kind), whole)
}

// TestManyAuxiliaries: for each item that was called auxiliary, all of what the file says of
// any item was read anew: 200 kB took seconds, and a megabyte minutes. Of that much it would
// take hours.
func TestManyAuxiliaries(t *testing.T) {
	t.Parallel()
	const n = 4_000_000
	version := make([]byte, 4)
	file := in("meta", version,
		in("pitm", version, []byte{0, 1}),
		in("iref", version, in("auxl", []byte{0, 2, 0, 1, 0, 1}), in("auxl", []byte{0, 3, 0, 0}, bytes.Repeat([]byte{0, 1}, n))),
		in("iprp",
			in("ipco", in("auxC", version, make([]byte, n))),
			in("ipma", version, binary.BigEndian.AppendUint32(nil, n), bytes.Repeat([]byte{0, 2, 1, 1}, n))))
	if AlphaFile(file) != nil {
		t.Error("it has transparency")
	}
}

// TestHiddenAlpha: what is to become the main picture is hidden no longer, and nothing else changes.
func TestHiddenAlpha(t *testing.T) {
	t.Parallel()
	version := make([]byte, 4)
	for name, tc := range map[string]struct{ count, number []byte }{
		"short numbers": {[]byte{0, 0, 0, 0, 0, 3}, []byte{0}},
		"long numbers":  {[]byte{1, 0, 0, 0, 0, 0, 0, 3}, []byte{0, 0, 0}},
	} {
		file := func(main byte, flags ...byte) []byte {
			var entries []byte
			for i, f := range flags {
				infe := slices.Concat([]byte{2, 0, 0, f}, tc.number, []byte{byte(i + 1), 0, 0}, []byte("hvc1\x00"))
				if len(tc.number) == 3 {
					infe[0] = 3
				}
				entries = append(entries, in("infe", infe)...)
			}
			return in("meta", version, in("pitm", version, []byte{0, main}), in("iinf", tc.count, entries),
				in("iref", version, in("auxl", []byte{0, 2, 0, 1, 0, 1})),
				in("iprp", in("ipco", in("auxC", version, []byte("urn:mpeg:hevc:2015:auxid:1\x00"))),
					in("ipma", version, []byte{0, 0, 0, 1, 0, 2, 1, 1})))
		}
		if got := AlphaFile(file(1, 0, 0x81, 1)); !bytes.Equal(got, file(2, 0, 0x80, 1)) {
			t.Errorf("%s: got %x", name, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"orientation5.heic", "orientation7.avif", "bt709-limited.heic"} {
		f.Add(testdata(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := Read(bytes.NewReader(data), int64(len(data)))
		if err == nil && (info.Width < 0 || info.Height < 0 || info.Pixels < 0) {
			t.Fatalf("%+v", info)
		}
	})
}

// FuzzAlphaFile holds that only the number of the main picture changes, and a flag.
func FuzzAlphaFile(f *testing.F) {
	for _, name := range []string{"alpha.heic", "orientation1.heic", "alpha.avif"} {
		f.Add(testdata(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, changed := AlphaFile(data), 0
		if file == nil {
			return
		}
		for i := range data {
			if file[i] != data[i] {
				changed++
			}
		}
		if len(file) != len(data) || changed > 5 {
			t.Fatalf("%d of %d bytes differ", changed, len(data))
		}
	})
}
