package decode

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Units of H.264, by the low five bits of their first byte: table 7-1. The next two bits are
// not 0 where others rest on the picture.
const (
	unitSlice    = 1
	unitKeySlice = 5
	unitSEI      = 6
	unitSettings = 7
)

// h264Picture is what a packet of H.264 says of its picture.
type h264Picture struct {
	after     int  // decoding may start here, but is right only after so many pictures that others rest on
	reference bool // others rest on it
	rests     bool // it rests on others itself, by the kind of its first part
	opens     bool // it does not complete another one
	alone     bool // nothing behind it is shown before it, or rests on what is
	halves    bool // settings come with it that allow pictures to be coded in two halves
}

// readH264 looks at a packet up to its first slice. prefix is how many bytes say how long a unit
// is; with 0 each begins with a start code.
func readH264(packet []byte, prefix int) (pic h264Picture) {
	for len(packet) > 0 {
		var unit []byte
		if unit, packet = nextUnit(packet, prefix); len(unit) == 0 {
			continue
		}
		switch unit[0] & 0x1f {
		case unitSEI:
			pic.after = max(pic.after, recoveryCount(unit[1:]))
		case unitKeySlice:
			return h264Picture{reference: true, opens: true, alone: true, halves: pic.halves}
		case unitSettings:
			pic.opens, pic.halves = true, pic.halves || !wholeOnly(unit)
		case unitSlice, 2: // whole, or the first of three parts
			pic.reference, pic.rests = unit[0]&0x60 != 0, sliceRests(unit[1:])
			return pic
		}
	}
	return pic
}

// nextUnit takes the first unit off a packet.
func nextUnit(packet []byte, prefix int) (unit, rest []byte) {
	if prefix > 0 {
		length := 0
		for _, b := range packet[:min(prefix, len(packet))] {
			length = length<<8 | int(b)
		}
		packet = packet[min(prefix, len(packet)):]
		length = min(length, len(packet))
		return packet[:length], packet[length:]
	}
	start := []byte{0, 0, 1}
	_, packet, _ = bytes.Cut(packet, start)
	end := bytes.Index(packet, start)
	if end < 0 {
		end = len(packet)
	}
	return packet[:end], packet[end:]
}

// recoveryCount is what supplemental information says of how many pictures it takes until those
// are right again (D.2.8); 0 where it says nothing.
func recoveryCount(sei []byte) int {
	const recoveryPoint = 6
	sei = bytes.ReplaceAll(sei, []byte{0, 0, 3}, []byte{0, 0})
	for len(sei) >= 2 {
		var kind, size int
		kind, sei = seiNumber(sei)
		size, sei = seiNumber(sei)
		if size > len(sei) {
			return 0
		}
		if kind == recoveryPoint {
			n, _ := expGolomb(bitsOf(sei[:size]))
			return n
		}
		sei = sei[size:]
	}
	return 0
}

// seiNumber reads a number that is a sum of bytes, up to the first one that is not 255.
func seiNumber(data []byte) (n int, rest []byte) {
	for i, b := range data {
		if n += int(b); b != 255 {
			return n, data[i+1:]
		}
	}
	return n, nil
}

// sliceRests says whether a part of a picture may rest on others: 7.3.3 and table 7-6.
func sliceRests(header []byte) bool {
	_, code := expGolomb(bitsOf(header)) // of where it begins
	kind, _ := expGolomb(code)
	return kind%5 != 2 && kind%5 != 4
}

// bitsOf are the first bits of data, zeros behind it.
func bitsOf(data []byte) uint64 {
	var word [8]byte
	copy(word[:], data)
	return binary.BigEndian.Uint64(word[:])
}

// expGolomb takes the number off that bits begin with: 9.1. Those of more than 31 bits are large.
func expGolomb(code uint64) (n int, rest uint64) {
	const large = 1 << 16
	zeros := bits.LeadingZeros64(code)
	if zeros > 15 {
		return large, 0
	}
	return int(code>>(63-2*zeros)) - 1, code << (2*zeros + 1) //nolint:gosec // of 16 bits at most
}

// unitPrefix is how many bytes say how long a unit of H.264 is, by what the container has of the
// codec's settings: ISO/IEC 14496-15, 5.3.3.1.
func unitPrefix(settings []byte) int {
	if len(settings) < 5 || settings[0] != 1 {
		return 0
	}
	return int(settings[4]&3) + 1
}

// refresh follows films of H.264 of which only the first picture is whole: of each later one
// another part rests on no other picture, so that whoever starts in their midst has all of it in
// the end. They name places to start at, which pass for key frames. Those that come while the one
// before is not done are left out.
type refresh struct {
	from int // the packet at which decoding would start for it
	left int // how many pictures that others rest on it still takes; 0: none is under way
	last int // the packet in which the last picture begins that others rest on
}

// never is how long a refresh takes that has not come to its end.
const never = 1 << 30

// follow takes the packet behind others and says whether a refresh ends with it. Pictures come out
// whole only once a decoder has let go of the one that is, for which it may wait.
func (r *refresh) follow(packets []packet, p *packet, pic h264Picture) (over bool) {
	if r.left > 0 && pic.reference && !p.second {
		if r.left--; r.left == 0 {
			packets[r.from].after, over = len(packets)-r.from, true
		}
	}
	p.key = p.key && (!pic.rests || pic.after > 0) // containers lie
	if p.key && pic.after > 0 {
		p.key = false
		r.begin(packets, p, pic.after+reorderTail)
	}
	if pic.reference && !p.second {
		r.last = len(packets)
	}
	return over
}

// begin has a refresh begin at a packet behind others. Decoding starts one picture before it: FFmpeg gives a picture
// up that rests on another one where there is none, and a part of it is whole. It makes one up where numbers of
// pictures are missing, as behind a start, but for a picture whose number is the first.
func (r *refresh) begin(packets []packet, p *packet, takes int) {
	switch {
	case r.left > 0:
	case len(packets) == 0:
		p.key, p.after = true, never
		*r = refresh{left: takes}
	case !packets[r.last].key: // else all is whole from there
		packets[r.last].key, packets[r.last].after = true, never
		*r = refresh{from: r.last, left: takes, last: r.last}
	}
}
