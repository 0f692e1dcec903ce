package heif

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"
	"maps"
)

// errBrokenOff means that there are zeros in the place of coded pixels.
var errBrokenOff = errors.New("heif: a part of the coded picture is missing")

// codedTimes is how many times the length of the file is looked at: parts that are alike may
// lie in the same place.
const codedTimes = 4

// CheckCoded says whether there are zeros in the coded pictures, in H.265, that the main
// picture of a file is made of, as in a copy that was broken off: decoders make something up
// for what is missing. What it cannot read of the description passes.
func CheckCoded(data []byte) error {
	f, ok := pictures(data)
	if !ok {
		return nil
	}
	room := codedTimes * len(data)
	for _, item := range f.parts() {
		size := f.lengthSize(item)
		if size == 0 {
			continue
		}
		coded, ok := f.coded(item, data, room)
		if !ok {
			return nil
		}
		if room -= len(coded); !unitsWhole(coded, size) {
			return errBrokenOff
		}
	}
	return nil
}

// unitsWhole says whether all units of a coded picture, each behind its length, may be what an
// encoder wrote: none is empty, and none has three zeros in a row (ITU-T H.265, section 7.4.2).
func unitsWhole(b []byte, size int) bool {
	for len(b) >= size {
		length := uint64(0)
		for _, v := range b[:size] {
			length = length<<8 | uint64(v)
		}
		b = b[size:]
		if length == 0 || length > uint64(len(b)) || bytes.Contains(b[:length], []byte{0, 0, 0}) {
			return false
		}
		b = b[length:]
	}
	return true
}

// file is where the pictures of a file are, and what they are made of.
type file struct {
	primary    uint32
	properties []box
	given      map[uint32][]int // to each item, of the properties, counted from 1
	made       map[uint32][]uint32
	multiplied map[uint32][]uint32 // by their transparency
	lie        map[uint32]location
	inside     []byte // the description's own data
}

// location is where the coded picture of an item lies.
type location struct {
	method  uint64 // 0: in the file, 1: in the description
	extents [][2]uint64
}

// pictures reads the description of a file.
func pictures(data []byte) (file, bool) {
	top, _ := boxes(data) // what stands behind everything else may be anything, as for Read
	for _, b := range top {
		if b.kind != "meta" || len(b.body) < 4 {
			continue
		}
		inner, err := boxes(b.body[4:])
		if err != nil {
			return file{}, false
		}
		return fileOf(inner)
	}
	return file{}, false
}

// fileOf reads the boxes of a description.
func fileOf(meta []box) (f file, ok bool) {
	var links []byte
	for _, b := range meta {
		switch b.kind {
		case "pitm":
			f.primary, ok = primaryItem(b.body)
		case "iprp":
			f.properties, links, _ = itemProperties(b.body)
		case "iref":
			f.made, f.multiplied = references(b.body, "dimg"), references(b.body, "prem")
		case "iloc":
			f.lie = locations(b.body)
		case "idat":
			f.inside = b.body
		}
	}
	f.given = maps.Collect(items(links))
	return f, ok
}

// Premultiplied says whether the colours of the main picture were multiplied by its transparency.
func Premultiplied(data []byte) bool {
	f, _ := pictures(data)
	return len(f.multiplied[f.primary]) > 0
}

// Coding is how the main picture is coded in H.265, or the first of those that it is made of.
type Coding struct {
	Config   []byte // its hvcC property; nil: it is not
	Declared bool   // it has an nclx property
	Part     bool   // the main picture is made of it, as a camera's is of tiles
}

// CodedAs finds it.
func CodedAs(data []byte) Coding {
	f, _ := pictures(data)
	for _, item := range f.parts() {
		if b := f.config(item); b != nil {
			return Coding{Config: b, Declared: f.declares(item), Part: item != f.primary}
		}
	}
	return Coding{}
}

// parts are the main picture and all that it is made of, as the tiles of a camera's.
func (f file) parts() []uint32 {
	all, known := []uint32{f.primary}, map[uint32]bool{f.primary: true}
	for i := 0; i < len(all); i++ {
		for _, part := range f.made[all[i]] {
			if !known[part] {
				known[part] = true
				all = append(all, part)
			}
		}
	}
	return all
}

// lengthSize is in how many bytes the length of each unit of an item is; 0: it has none, for
// it is not coded in H.265.
func (f file) lengthSize(item uint32) int {
	if b := f.config(item); b != nil {
		return 1 + int(b[21]&3)
	}
	return 0
}

// config is how an item is coded in H.265; nil: it is not.
func (f file) config(item uint32) []byte {
	for p := range f.of(item) {
		if p.kind == "hvcC" && len(p.body) > 21 {
			return p.body
		}
	}
	return nil
}

// declares says whether an item says how its colours are coded.
func (f file) declares(item uint32) bool {
	for p := range f.of(item) {
		if p.kind == "colr" && bytes.HasPrefix(p.body, []byte("nclx")) {
			return true
		}
	}
	return false
}

// of are the properties of an item.
func (f file) of(item uint32) iter.Seq[box] {
	return func(yield func(box) bool) {
		for _, i := range f.given[item] {
			if i >= 1 && i <= len(f.properties) && !yield(f.properties[i-1]) {
				return
			}
		}
	}
}

// coded is the coded picture of an item, if it has no more than room and lies in the file or
// in its description.
func (f file) coded(item uint32, data []byte, room int) (coded []byte, ok bool) {
	at := f.lie[item]
	switch at.method {
	case 0:
	case 1:
		data = f.inside
	default:
		return nil, false
	}
	for _, e := range at.extents {
		from, length := e[0], e[1]
		if from > uint64(len(data)) || length > uint64(len(data))-from {
			return nil, false
		}
		part := data[from : from+length]
		if len(coded)+len(part) > room {
			return nil, false
		}
		coded = append(coded, part...)
	}
	return coded, true
}

// locations reads an iloc box, up to where it is cut off.
func locations(b []byte) map[uint32]location {
	if len(b) < 6 {
		return nil
	}
	version, sizes := b[0], []int{int(b[4] >> 4), int(b[4] & 15), int(b[5] >> 4), int(b[5] & 15)}
	wide, c := 2, cursor{b: b[6:]}
	if version >= 2 {
		wide = 4
	}
	if version == 0 {
		sizes[3] = 0
	}
	if sizes[0]+sizes[1] == 0 {
		return nil // millions of places that take no room
	}
	found := make(map[uint32]location)
	for range c.number(wide) {
		item, at := uint32(c.number(wide)), location{} //nolint:gosec // of at most 4 bytes
		if version > 0 {
			at.method = c.number(2) & 15
		}
		c.number(2) // which file
		base := c.number(sizes[2])
		for range c.number(2) {
			c.number(sizes[3])
			at.extents = append(at.extents, [2]uint64{base + c.number(sizes[0]), c.number(sizes[1])})
			if c.ended {
				return found
			}
		}
		if c.ended {
			return found
		}
		found[item] = at
	}
	return found
}

// cursor reads numbers one after the other, zeros from where its bytes end.
type cursor struct {
	b     []byte
	ended bool
}

// number reads one of so many bytes; of more than 8 it is nothing.
func (c *cursor) number(size int) uint64 {
	if len(c.b) < size || size > 8 {
		c.b, c.ended = nil, true
		return 0
	}
	var whole [8]byte
	copy(whole[8-size:], c.b)
	c.b = c.b[size:]
	return binary.BigEndian.Uint64(whole[:])
}
