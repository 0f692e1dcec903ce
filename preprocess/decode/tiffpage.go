//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// tiffPage is a directory of a TIFF file.
type tiffPage struct {
	data    []byte // the whole file
	order   binary.ByteOrder
	entries [][]byte // of 12 bytes: tag, type, count, and value or where it is
	next    int64    // where the next directory is; 0: there is none
}

// firstPage finds the first directory, or what there is of it.
func firstPage(data []byte) tiffPage {
	page := tiffPage{data: data, order: binary.LittleEndian}
	if len(data) < 8 {
		return page
	}
	if data[0] == 'M' {
		page.order = binary.BigEndian
	}
	return page.at(int64(page.order.Uint32(data[4:])))
}

// at is the directory of the same file there, or what there is of it.
func (p tiffPage) at(at int64) tiffPage {
	page := tiffPage{data: p.data, order: p.order}
	if at+2 > int64(len(p.data)) {
		return page
	}
	rest := p.data[at+2:]
	for range p.order.Uint16(p.data[at:]) {
		if len(rest) < 12 {
			return page
		}
		page.entries, rest = append(page.entries, rest[:12]), rest[12:]
	}
	if len(rest) >= 4 {
		page.next = int64(p.order.Uint32(rest))
	}
	return page
}

// maxPages is after how many directories no more pages are looked for.
const maxPages = 64

// hasMorePages says whether there are pages behind the first one: neither a smaller copy of another nor what is transparent of it.
func hasMorePages(data []byte) bool {
	const subfile, smaller, mask = 254, 1, 4
	page := firstPage(data)
	for range maxPages {
		if page.next == 0 {
			return false
		}
		if page = page.at(page.next); len(page.entries) > 0 && page.number(subfile)&(smaller|mask) == 0 {
			return true
		}
	}
	return false
}

// short is the first value of a tag of numbers of 16 bits, or what stands for
// it if the file does not say. libtiff, too, takes the first of several.
func (p tiffPage) short(tag uint16, otherwise int) int {
	for _, e := range p.entries {
		if p.order.Uint16(e) != tag || p.order.Uint16(e[2:]) != 3 {
			continue
		}
		if p.order.Uint32(e[4:]) <= 2 {
			return int(p.order.Uint16(e[8:]))
		}
		if at := int64(p.order.Uint32(e[8:])); at+2 <= int64(len(p.data)) {
			return int(p.order.Uint16(p.data[at:]))
		}
	}
	return otherwise
}

// shorts are the first n values of a tag of numbers of 16 bits, or nil where it has not
// as many.
func (p tiffPage) shorts(tag uint16, n int) []uint16 {
	for _, e := range p.entries {
		if p.order.Uint16(e) != tag || p.order.Uint16(e[2:]) != 3 || int64(p.order.Uint32(e[4:])) < int64(n) {
			continue
		}
		from := p.values(e, 2)
		if len(from) < 2*n {
			return nil
		}
		values := make([]uint16, n)
		for i := range values {
			values[i] = p.order.Uint16(from[2*i:])
		}
		return values
	}
	return nil
}

// tiffNumbers are the values of a tag of numbers of 16 or 32 bits.
type tiffNumbers struct {
	order binary.ByteOrder
	raw   []byte
	size  int // of each, in bytes
}

// Len is how many there are.
func (n tiffNumbers) Len() int { return len(n.raw) / max(n.size, 1) }

// At is one of them.
func (n tiffNumbers) At(i int) int {
	if n.size == 2 {
		return int(n.order.Uint16(n.raw[2*i:]))
	}
	return int(n.order.Uint32(n.raw[4*i:]))
}

// numbers are the values of a tag of numbers of 16 or 32 bits, up to where the file ends.
func (p tiffPage) numbers(tag uint16) tiffNumbers {
	for _, e := range p.entries {
		size := map[uint16]int{3: 2, 4: 4}[p.order.Uint16(e[2:])]
		if p.order.Uint16(e) == tag && size > 0 {
			return tiffNumbers{p.order, p.values(e, size), size}
		}
	}
	return tiffNumbers{}
}

// values are the bytes of an entry's values of a size, up to where the file ends.
func (p tiffPage) values(entry []byte, size int) []byte {
	length := size * int(p.order.Uint32(entry[4:]))
	if length <= 4 {
		return entry[8 : 8+length]
	}
	from := p.data[min(int(p.order.Uint32(entry[8:])), len(p.data)):]
	return from[:min(length, len(from))]
}

// jpegTables are the tables that the JPEG pictures of the page share, without the end marker
// that they are stored with; nil: each has its own.
func (p tiffPage) jpegTables() []byte {
	const most = 1 << 16
	for _, e := range p.entries {
		if p.order.Uint16(e) == 347 {
			if tables := p.values(e, 1); len(tables) > 4 && len(tables) <= most {
				return bytes.TrimSuffix(tables, []byte{0xff, 0xd9})
			}
		}
	}
	return nil
}

// number is the value of a tag of one number of 16 or 32 bits, or 0.
func (p tiffPage) number(tag uint16) int {
	for _, e := range p.entries {
		switch {
		case p.order.Uint16(e) != tag:
		case p.order.Uint16(e[2:]) == 3:
			return int(p.order.Uint16(e[8:]))
		case p.order.Uint16(e[2:]) == 4:
			return int(p.order.Uint32(e[8:]))
		}
	}
	return 0
}

// set makes a number the only value of a tag, where the page has it.
func (p tiffPage) set(tag uint16, value int) {
	for _, e := range p.entries {
		if p.order.Uint16(e) != tag {
			continue
		}
		p.order.PutUint32(e[4:], 1)
		if value < 1<<16 {
			p.order.PutUint16(e[2:], 3)
			p.order.PutUint16(e[8:], uint16(value)) //nolint:gosec // as compared
		} else {
			p.order.PutUint16(e[2:], 4)
			p.order.PutUint32(e[8:], uint32(value)) //nolint:gosec // of a width, which has 32 bits
		}
	}
}

// keep makes nothing of all tags but those, by giving them the number of one that nobody
// knows: their order does not matter to libtiff.
func (p tiffPage) keep(tags []uint16) {
	const unknown = 65000
	for _, e := range p.entries {
		if !slices.Contains(tags, p.order.Uint16(e)) {
			p.order.PutUint16(e, unknown)
		}
	}
}
