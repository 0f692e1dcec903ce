package jfif

import "slices"

// progress is what the scans of a picture have brought so far. A progressive
// picture comes in several, each of some coefficients or of some of their bits.
type progress struct {
	ids        []byte
	sequential bool        // a scan brings all of a component, whatever it says
	done       [4][64]bool // of each component, the coefficients with their last bit
}

// newProgress takes the marker of a frame header and its components.
func newProgress(marker byte, components []byte) progress {
	p := progress{sequential: marker&3 != 2}
	for ; len(components) >= 3 && len(p.ids) < len(p.done); components = components[3:] {
		p.ids = append(p.ids, components[0])
	}
	return p
}

// scan takes the header of a scan: ISO/IEC 10918-1, B.2.3.
func (p *progress) scan(header []byte) {
	if len(header) < 4 || len(header) < 4+2*int(header[0]) {
		return
	}
	n := int(header[0])
	first, last, low := int(header[1+2*n]), int(header[2+2*n]), header[3+2*n]&0x0f
	if p.sequential {
		first, last, low = 0, 63, 0
	}
	for c := range n {
		for i, id := range p.ids { // some files have a name twice
			for k := first; id == header[1+2*c] && k <= min(last, 63); k++ {
				p.done[i][k] = low == 0
			}
		}
	}
}

// refined says whether nothing is left to come.
func (p *progress) refined() bool {
	for i := range p.ids {
		if slices.Contains(p.done[i][:], false) {
			return false
		}
	}
	return len(p.ids) > 0
}
