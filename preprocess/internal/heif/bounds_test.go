package heif

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"
)

// asked counts what is read of a file.
type asked struct {
	io.ReaderAt

	times, longest int
}

func (a *asked) ReadAt(p []byte, at int64) (int, error) {
	a.times, a.longest = a.times+1, max(a.longest, len(p))
	return a.ReaderAt.ReadAt(p, at)
}

// The server itself reads descriptions, before any decoder: what it does and takes for a file
// is bounded, whatever the file says.
func TestReadingIsBounded(t *testing.T) {
	t.Parallel()
	free := in("free")
	for name, c := range map[string]struct {
		file    []byte
		longest int
		nothing bool // it finds no picture, else damage
	}{
		"a long description":      {in("meta", make([]byte, maxMeta+1)), 16, false},
		"many boxes":              {bytes.Repeat(free, 10*maxBoxes), 16, true},
		"many boxes in a meta":    {in("meta", make([]byte, 4), bytes.Repeat(free, maxBoxes+1)), maxMeta, false},
		"as many as may be in it": {in("meta", make([]byte, 4), bytes.Repeat(free, maxBoxes)), maxMeta, true},
	} {
		f := &asked{ReaderAt: bytes.NewReader(c.file)}
		_, err := Read(f, int64(len(c.file)))
		if err == nil || errors.Is(err, ErrNoPicture) != c.nothing {
			t.Errorf("%s: %v", name, err)
		}
		if f.longest > c.longest || f.times > maxBoxes+1 {
			t.Errorf("%s: read %d times, up to %d bytes", name, f.times, f.longest)
		}
	}
}

// A coded picture may be said to lie in thousands of places, all of them the same: gathered, a
// file of a hundred megabytes would take gigabytes. It is left to the decoder.
func TestPlacesOverEachOtherAreNotGathered(t *testing.T) {
	t.Parallel()
	version, hvcC, damaged := make([]byte, 4), make([]byte, 23), make([]byte, 4000)
	hvcC[21] = 3
	build := func(places int, at int) []byte {
		iloc := []byte{0, 0, 0, 0, 0x44, 0, 0, 1, 0, 1, 0, 0, 0, byte(places)}
		for range places {
			iloc = binary.BigEndian.AppendUint32(iloc, uint32(at))
			iloc = binary.BigEndian.AppendUint32(iloc, uint32(len(damaged)))
		}
		return in("meta", version, in("pitm", version, []byte{0, 1}), in("iloc", iloc),
			in("iprp", in("ipco", in("hvcC", hvcC)), in("ipma", version, []byte{0, 0, 0, 1, 0, 1, 1, 1})))
	}
	for places, gathered := range map[int]bool{1: true, 200: false} {
		file := slices.Concat(build(places, len(build(places, 0))+8), in("mdat", damaged))
		if err := CheckCoded(file); errors.Is(err, errBrokenOff) != gathered {
			t.Errorf("%d places: %v", places, err)
		}
	}
}
