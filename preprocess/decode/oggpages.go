//go:build gocv_specific_modules

package decode

/*
#include <libavutil/crc.h>

static uint32_t pageSum(const uint8_t *page, size_t n) {
	return av_crc(av_crc_get_table(AV_CRC_32_IEEE), 0, page, n);
}
*/
import "C"

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"unsafe"
)

// What a page of an OGG file consists of: RFC 3533, section 6.
const (
	oggHead = 27                      // bytes before the lengths of its segments
	oggMost = oggHead + 255 + 255*255 // bytes of the longest
	oggSum  = oggHead - 1 - 4         // where its checksum is
)

// tornPages says whether a page of an OGG file is damaged or cut off. FFmpeg leaves such pages
// out, and does not tell. What is no page, as a tag, is passed over.
func tornPages(f io.ReaderAt, size int64) bool {
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, size), 2*oggMost)
	for {
		b, _ := r.Peek(oggMost)
		at := bytes.Index(b, []byte("OggS"))
		switch {
		case at == 0:
			if at = wholePage(b); at == 0 {
				return true
			}
		case at < 0 && len(b) < oggMost:
			return false
		case at < 0:
			at = oggMost - len("Ogg")
		}
		_, _ = r.Discard(at) // it has been seen
	}
}

// wholePage is the length of the page that b, which it spoils, begins with; 0: not all of it is there.
func wholePage(b []byte) int {
	if len(b) < oggHead {
		return 0
	}
	n := oggHead + int(b[oggHead-1])
	for _, length := range b[oggHead:min(n, len(b))] {
		n += int(length)
	}
	if n > len(b) {
		return 0
	}
	sum := binary.BigEndian.Uint32(b[oggSum:]) // as libavutil has it
	clear(b[oggSum:][:4])
	if C.pageSum((*C.uint8_t)(unsafe.SliceData(b)), C.size_t(n)) != C.uint32_t(sum) {
		return 0
	}
	return n
}
