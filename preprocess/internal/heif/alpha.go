package heif

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// AlphaFile returns a copy of a file whose main picture is what was the
// transparency of the main picture, for decoders that know no other way to it.
// It is nil where there is none.
func AlphaFile(data []byte) []byte {
	data = bytes.Clone(data)
	top, _ := boxes(data) // what stands behind everything else may be anything, as for Read
	for _, b := range top {
		if b.kind == "meta" && len(b.body) >= 4 {
			if inner, err := boxes(b.body[4:]); err == nil && swapAlpha(inner) {
				return data
			}
			return nil
		}
	}
	return nil
}

// swapAlpha makes the transparency of the main picture the main picture, in the
// bytes that the boxes of the description refer to.
func swapAlpha(meta []box) bool {
	var main, entries, refs, properties []byte
	for _, b := range meta {
		switch b.kind {
		case "pitm":
			main = b.body
		case "iinf":
			entries = b.body
		case "iref":
			refs = b.body
		case "iprp":
			properties = b.body
		}
	}
	primary, ok := primaryItem(main)
	shared, links, err := itemProperties(properties)
	if !ok || err != nil {
		return false
	}
	auxiliary, alphas := auxiliaries(refs, primary), make(map[int]bool)
	for i := range shared {
		alphas[i+1] = alpha(shared[i : i+1])
	}
	for item, indices := range items(links) {
		if auxiliary[item] && slices.ContainsFunc(indices, func(i int) bool { return alphas[i] }) {
			unhide(entries, item)
			return putPrimary(main, item)
		}
	}
	return false
}

// auxiliaries are the items that an iref box calls auxiliary to item.
func auxiliaries(b []byte, item uint32) map[uint32]bool {
	found := make(map[uint32]bool)
	for from, to := range references(b, "auxl") {
		found[from] = slices.Contains(to, item)
	}
	return found
}

// references are the items that each item refers to in an iref box, in one way.
func references(b []byte, kind string) map[uint32][]uint32 {
	if len(b) < 4 {
		return nil
	}
	all, _ := boxes(b[4:])
	width := 2
	if b[0] > 0 {
		width = 4
	}
	found := make(map[uint32][]uint32)
	for _, r := range all {
		if r.kind != kind || len(r.body) < width+2 {
			continue
		}
		from := number(r.body[:width])
		for to := r.body[width+2:]; len(to) >= width; to = to[width:] {
			found[from] = append(found[from], number(to[:width]))
		}
	}
	return found
}

// number reads an item number of two or four bytes.
func number(b []byte) uint32 {
	if len(b) == 2 {
		return uint32(binary.BigEndian.Uint16(b))
	}
	return binary.BigEndian.Uint32(b)
}

// putPrimary writes the item number into a pitm box, where it has room.
func putPrimary(b []byte, item uint32) bool {
	switch {
	case len(b) >= 6 && b[0] == 0 && item <= 0xffff:
		binary.BigEndian.PutUint16(b[4:], uint16(item))
	case len(b) >= 8 && b[0] > 0:
		binary.BigEndian.PutUint32(b[4:], item)
	default:
		return false
	}
	return true
}

// unhide has an item of an iinf box be shown: decoders take no hidden one for the main picture.
func unhide(b []byte, item uint32) {
	head := 6
	if len(b) > 0 && b[0] > 0 {
		head = 8
	}
	entries, _ := boxes(b[min(head, len(b)):])
	for _, e := range entries {
		width := 2
		if len(e.body) > 0 && e.body[0] > 2 {
			width = 4
		}
		// The version, three bytes of flags, and the number.
		if e.kind == "infe" && len(e.body) >= 4+width && number(e.body[4:4+width]) == item {
			e.body[3] &^= 1
			return
		}
	}
}
