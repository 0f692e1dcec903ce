package heif

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"
)

// tiles is a file of a main picture in three parts, whose coded pictures are given: of the
// last, half lies in the description.
func tiles(method byte, coded [3]string) []byte {
	version, hvcC := make([]byte, 4), make([]byte, 23)
	hvcC[21] = 3 // lengths of four bytes
	build := func(base int) []byte {
		places := []byte{method, 0, 0, 0, 0x44, 0, 0, 3}
		if method == 1 {
			base = 0
		}
		for i, c := range coded {
			places = append(places, 0, byte(2+i))
			if method == 1 {
				places = append(places, 0, 1)
			}
			half := len(c) / 2
			places = append(places, 0, 0, 0, 2)
			for _, v := range []int{base, half, base + half, len(c) - half} {
				places = binary.BigEndian.AppendUint32(places, uint32(v))
			}
			base += len(c)
		}
		return in("meta", version,
			in("pitm", version, []byte{0, 1}), in("iloc", places), in("idat", []byte(coded[0]+coded[1]+coded[2])),
			in("iref", version, in("dimg", []byte{0, 1, 0, 3, 0, 2, 0, 3, 0, 4}), in("thmb", []byte{0, 5, 0, 1, 0, 1})),
			in("iprp", in("ipco", in("hvcC", hvcC)),
				in("ipma", version, []byte{0, 0, 0, 4, 0, 2, 1, 1, 0, 3, 1, 1, 0, 4, 1, 1, 0, 5, 1, 1})))
	}
	return slices.Concat(build(len(build(0))+8), in("mdat", []byte(coded[0]+coded[1]+coded[2])))
}

// TestCodedPictures looks for zeros in each tile, wherever it lies.
func TestCodedPictures(t *testing.T) {
	t.Parallel()
	const good = "\x00\x00\x00\x03abc\x00\x00\x00\x05d\x00\x00\x03e"
	for method := range byte(2) {
		if err := CheckCoded(tiles(method, [3]string{good, good, good})); err != nil {
			t.Errorf("method %d: %v", method, err)
		}
		for name, bad := range map[string]string{
			"zeros":         "\x00\x00\x00\x05a\x00\x00\x00e",
			"zeros behind":  good + "\x00\x00\x00\x00",
			"zeros alone":   "\x00\x00\x00\x00\x00\x00\x00\x00",
			"more to come":  good[:len(good)-1],
			"none of it is": "\xff\xff\xff\xff\xff\xff\xff\xff",
		} {
			for tile := range 3 {
				coded := [3]string{good, good, good}
				coded[tile] = bad
				if CheckCoded(tiles(method, coded)) == nil {
					t.Errorf("method %d: %s in tile %d pass", method, name, tile)
				}
			}
		}
	}
}

// TestWholeFiles: what encoders wrote passes, also with rubbish behind it.
func TestWholeFiles(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../../decode/testdata/*.heic")
	if err != nil || len(names) == 0 {
		t.Fatal("no files", err)
	}
	for _, name := range names {
		data := testdata(t, filepath.Base(name))
		if err := CheckCoded(append(data, "rubbish"...)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		coded := bytes.Index(data, []byte("mdat")) + 4
		clear(data[coded+(len(data)-coded)/2:])
		if CheckCoded(data) == nil {
			t.Errorf("%s: half of it passes", name)
		}
	}
}

// TestPlacesWithoutRoom: numbers of no bytes can be told of without end.
func TestPlacesWithoutRoom(t *testing.T) { //nolint:paralleltest // it counts for the whole process
	const n = 20_000
	places := append([]byte{0, 0, 0, 0, 0, 0}, 0xff, 0xff)
	places = append(places, bytes.Repeat([]byte{0, 2, 0, 0, 0xff, 0xff}, n)...)
	file := in("meta", make([]byte, 4), in("pitm", make([]byte, 6)), in("iloc", places))
	allocations := testing.AllocsPerRun(1, func() {
		if err := CheckCoded(file); err != nil {
			t.Error(err)
		}
	})
	if allocations > n/10 {
		t.Errorf("%d kB took %v allocations", len(places)>>10, allocations)
	}
}

// FuzzCheckCoded wants an answer for any file.
func FuzzCheckCoded(f *testing.F) {
	f.Add(testdata(f, "orientation1.heic"))
	f.Add(tiles(0, [3]string{"\x00\x00\x00\x01a", "", "\x00\x00\x00\x01b"}))
	f.Add(tiles(1, [3]string{"\x00\x00\x00\x01a", "", "\x00\x00\x00\x01b"}))
	f.Fuzz(func(_ *testing.T, data []byte) { _ = CheckCoded(data) })
}
