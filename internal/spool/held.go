package spool

import (
	"io"
	"sync"
)

// held is a small upload until somebody asks for a file: where more uploads come than
// can be judged most are never asked for, and a file in memory takes several system
// calls. It lies in blocks, which other uploads use after it.
type held struct {
	blocks []*block
	size   int
}

// blockBytes is how much memory is taken at a time.
const blockBytes = 32 << 10

type block [blockBytes]byte

var blocks = sync.Pool{New: func() any { return new(block) }}

// write appends p.
func (h *held) write(p []byte) {
	for len(p) > 0 {
		at := h.size % blockBytes
		if at == 0 {
			h.blocks = append(h.blocks, blocks.Get().(*block))
		}
		n := copy(h.blocks[h.size/blockBytes][at:], p)
		h.size, p = h.size+n, p[n:]
	}
}

// ReadAt implements io.ReaderAt.
func (h *held) ReadAt(p []byte, offset int64) (n int, err error) {
	for at := int(offset); n < len(p) && at < h.size; at = int(offset) + n {
		n += copy(p[n:], h.part(at))
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// part is what the block has from at on.
func (h *held) part(at int) []byte {
	begin := at / blockBytes * blockBytes
	return h.blocks[at/blockBytes][at-begin : min(blockBytes, h.size-begin)]
}

// WriteTo implements io.WriterTo.
func (h *held) WriteTo(w io.Writer) (n int64, err error) {
	for n < int64(h.size) && err == nil {
		var wrote int
		wrote, err = w.Write(h.part(int(n)))
		n += int64(wrote)
	}
	return n, err
}

// free gives the blocks to others, empty: they shall not find what was deleted.
func (h *held) free() {
	for _, b := range h.blocks {
		clear(b[:])
		blocks.Put(b)
	}
	h.blocks, h.size = nil, 0
}
