// Package heif reads what a HEIF or AVIF file declares about its main picture:
// dimensions, what is to be seen, orientation and colour coding. It decodes no picture. See
// ISO/IEC 23008-12.
package heif

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
	"iter"
)

// Info is what the properties of the main picture say.
type Info struct {
	Width, Height int             // coded, before Transforms
	Pixels        int64           // of the largest item in the file
	Clean         image.Rectangle // what of that is to be seen, before Transforms; empty: all of it
	Transforms    Transforms      // to be applied in this order
	Color         Color
	Alpha         bool // there is transparency somewhere in the file
}

// Transforms are turns and mirrorings in the order of the file.
type Transforms []Transform

// Transform is one of them.
type Transform struct {
	Quarters int    // turns by 90 degrees, anticlockwise
	Mirror   Mirror // instead of a turn, if set
}

// Mirror is an axis to mirror at.
type Mirror byte

// The mirrorings of the imir property.
const (
	NoMirror  Mirror = iota
	UpDown           // about the horizontal axis: top and bottom change places
	LeftRight        // about the vertical axis: left and right change places
)

// Color is the coding of colours as ISO/IEC 23091-2 numbers it.
type Color struct {
	Declared  bool
	Matrix    int // 1 is BT.709, 5 and 6 BT.601, 9 BT.2020
	FullRange bool
}

// ErrNoPicture means that the file describes no main picture, as a bare image
// sequence does.
var ErrNoPicture = errors.New("heif: no main picture is described")

// maxMeta bounds the description of the pictures, which is read as a whole.
const maxMeta = 4 << 20

// maxBoxes bounds how many boxes are looked at on one level.
const maxBoxes = 4096

// Read reads the description out of a file of size bytes. It is an error if the
// file ends before its coded pictures do.
func Read(f io.ReaderAt, size int64) (Info, error) {
	info, err := Info{}, ErrNoPicture
	at := int64(0)
	for range maxBoxes {
		var head [16]byte
		n, readErr := f.ReadAt(head[:min(16, max(0, size-at))], at)
		if n < 8 {
			if readErr != nil && !errors.Is(readErr, io.EOF) {
				return Info{}, fmt.Errorf("heif: read a box: %w", readErr)
			}
			break
		}
		kind, header, length := boxHeader(head[:n], size-at)
		if length < int64(header) || length > size-at {
			if err == nil && kind != "mdat" {
				break // what stands behind everything else may be anything
			}
			return Info{}, errors.New("heif: a box is longer than the file")
		}
		if kind == "meta" && errors.Is(err, ErrNoPicture) {
			info, err = readMeta(f, at+int64(header), length-int64(header))
			if err != nil && !errors.Is(err, ErrNoPicture) {
				return Info{}, err
			}
		}
		at += length
	}
	return info, err
}

// readMeta reads and parses the description.
func readMeta(f io.ReaderAt, at, length int64) (Info, error) {
	if length > maxMeta {
		return Info{}, errors.New("heif: the description is too long")
	}
	meta := make([]byte, length)
	if _, err := f.ReadAt(meta, at); err != nil {
		return Info{}, fmt.Errorf("heif: read the description: %w", err)
	}
	return parseMeta(meta)
}

// boxHeader is the type of a box and the lengths of its header and of all of
// it; rest is what the length 0 stands for. A length of -1 is invalid.
func boxHeader(b []byte, rest int64) (kind string, header int, length int64) {
	kind, header, length = string(b[4:8]), 8, int64(binary.BigEndian.Uint32(b))
	switch {
	case length == 0:
		length = rest
	case length == 1 && len(b) >= 16:
		header, length = 16, int64(binary.BigEndian.Uint64(b[8:])) //nolint:gosec // negative is caught as invalid
	case length == 1:
		length = -1
	}
	return kind, header, length
}

// box is a box inside of the description.
type box struct {
	kind string
	body []byte
}

// boxes splits b.
func boxes(b []byte) ([]box, error) {
	var all []box
	for len(b) > 0 {
		if len(b) < 8 || len(all) == maxBoxes {
			return all, errors.New("heif: damaged boxes")
		}
		kind, header, length := boxHeader(b, int64(len(b)))
		if length < int64(header) || length > int64(len(b)) {
			return all, errors.New("heif: a box is longer than its parent")
		}
		all = append(all, box{kind, b[header:length]})
		b = b[length:]
	}
	return all, nil
}

// parseMeta reads the description.
func parseMeta(meta []byte) (Info, error) {
	if len(meta) < 4 {
		return Info{}, errors.New("heif: the description is empty")
	}
	all, err := boxes(meta[4:])
	if err != nil {
		return Info{}, err
	}
	var properties []box
	var links []byte
	primary, described := uint32(0), false
	for _, b := range all {
		switch b.kind {
		case "pitm":
			primary, described = primaryItem(b.body)
		case "iprp":
			properties, links, err = itemProperties(b.body)
			if err != nil {
				return Info{}, err
			}
		}
	}
	if !described {
		return Info{}, ErrNoPicture
	}
	info := Info{Pixels: largest(properties), Alpha: alpha(properties)}
	indices, err := associations(links, primary)
	if err != nil {
		return Info{}, err
	}
	var aperture []byte
	for _, i := range indices {
		if i >= 1 && i <= len(properties) {
			p := properties[i-1]
			if info.add(p); p.kind == "clap" {
				aperture = p.body
			}
		}
	}
	info.Clean = cleanAperture(aperture, info.Width, info.Height)
	return info, nil
}

// primaryItem is the number of the main picture.
func primaryItem(b []byte) (uint32, bool) {
	switch {
	case len(b) >= 6 && b[0] == 0:
		return uint32(binary.BigEndian.Uint16(b[4:])), true
	case len(b) >= 8:
		return binary.BigEndian.Uint32(b[4:]), true
	}
	return 0, false
}

// itemProperties are the shared properties and who has which.
func itemProperties(b []byte) (properties []box, links []byte, err error) {
	all, err := boxes(b)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range all {
		switch b.kind {
		case "ipco":
			if properties, err = boxes(b.body); err != nil {
				return nil, nil, err
			}
		case "ipma":
			links = b.body
		}
	}
	return properties, links, nil
}

// largest is the number of pixels of the largest picture that is described.
func largest(properties []box) int64 {
	most := int64(0)
	for _, p := range properties {
		if p.kind == "ispe" && len(p.body) >= 12 {
			w, h := binary.BigEndian.Uint32(p.body[4:]), binary.BigEndian.Uint32(p.body[8:])
			most = max(most, int64(min(w, 1<<30))*int64(min(h, 1<<30)))
		}
	}
	return most
}

// alpha says whether any picture is the transparency of another.
func alpha(properties []box) bool {
	for _, p := range properties {
		if p.kind == "auxC" && (bytes.Contains(p.body, []byte("alpha")) || bytes.Contains(p.body, []byte("auxid:1"))) {
			return true
		}
	}
	return false
}

// associations lists the properties of an item, counted from 1.
func associations(b []byte, item uint32) ([]int, error) {
	for id, indices := range items(b) {
		if id == item {
			return indices, nil
		}
	}
	return nil, errors.New("heif: no properties are given to the main picture")
}

// items are the items that properties are given to, and which, counted from 1, up to
// where that is cut off.
func items(b []byte) iter.Seq2[uint32, []int] {
	return func(yield func(uint32, []int) bool) {
		if len(b) < 8 {
			return
		}
		wideItems, width := b[0] >= 1, 1+int(b[3]&1)
		entries := binary.BigEndian.Uint32(b[4:])
		rest := b[8:]
		for range entries {
			id, count, properties, ok := entry(rest, wideItems)
			if !ok || len(properties) < count*width {
				return
			}
			if rest = properties[count*width:]; !yield(id, indices(properties[:count*width], width)) {
				return
			}
		}
	}
}

// indices reads numbers of one or two bytes; their highest bit says whether a property
// matters.
func indices(b []byte, width int) []int {
	var found []int
	for ; len(b) >= width; b = b[width:] {
		if width == 1 {
			found = append(found, int(b[0]&0x7f))
		} else {
			found = append(found, int(binary.BigEndian.Uint16(b)&0x7fff))
		}
	}
	return found
}

// entry reads the beginning of an association.
func entry(b []byte, wide bool) (id uint32, count int, rest []byte, ok bool) {
	switch {
	case wide && len(b) >= 5:
		return binary.BigEndian.Uint32(b), int(b[4]), b[5:], true
	case !wide && len(b) >= 3:
		return uint32(binary.BigEndian.Uint16(b)), int(b[2]), b[3:], true
	}
	return 0, 0, nil, false
}

// add takes one property of the main picture in.
func (i *Info) add(p box) {
	switch {
	case p.kind == "ispe" && len(p.body) >= 12:
		i.Width = int(min(binary.BigEndian.Uint32(p.body[4:]), 1<<30))
		i.Height = int(min(binary.BigEndian.Uint32(p.body[8:]), 1<<30))
	case p.kind == "irot" && len(p.body) >= 1:
		i.Transforms = append(i.Transforms, Transform{Quarters: int(p.body[0] & 3)})
	case p.kind == "imir" && len(p.body) >= 1:
		i.Transforms = append(i.Transforms, Transform{Mirror: UpDown + Mirror(p.body[0]&1)})
	case p.kind == "colr" && len(p.body) >= 11 && string(p.body[:4]) == "nclx":
		i.Color = Color{
			Declared: true, Matrix: int(binary.BigEndian.Uint16(p.body[8:])),
			FullRange: p.body[10]&0x80 != 0,
		}
	}
}
