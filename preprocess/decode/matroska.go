package decode

import (
	"encoding/binary"
	"io"
	"math/bits"
)

// matroskaSegment is the element that holds all of a Matroska file but its header: RFC 9559, section 5.1.
const matroskaSegment = 0x18538067

// maxMatroskaHead is how many elements a file may have up to its segment, which are two in all that programs write.
const maxMatroskaHead = 1000

// wholeSegment says whether all of a Matroska file's segment is there. A file that was written while it was
// recorded does not say how long that is.
func wholeSegment(f io.ReaderAt, size int64) bool {
	for at, n := int64(0), 0; at < size && n < maxMatroskaHead; n++ {
		id, idBytes := matroskaNumber(f, at)
		length, lengthBytes := matroskaNumber(f, at+idBytes)
		mark := int64(1) << (7 * lengthBytes)
		if length &^= mark; idBytes == 0 || lengthBytes == 0 || length == mark-1 {
			return false
		}
		if at += idBytes + lengthBytes + length; id == matroskaSegment {
			return at <= size
		}
	}
	return false
}

// matroskaNumber is the number that stands at a place, with the bit that says of how many bytes it is: RFC 8794,
// section 4. It is of none where it is cut off.
func matroskaNumber(f io.ReaderAt, at int64) (number, length int64) {
	var b [8]byte
	n, _ := f.ReadAt(b[:], at)
	if length = int64(bits.LeadingZeros8(b[0])) + 1; length > int64(n) {
		return 0, 0
	}
	return int64(binary.BigEndian.Uint64(b[:]) >> (64 - 8*length)), length //nolint:gosec // of 57 bits at most
}
