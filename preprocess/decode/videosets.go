package decode

import (
	"bytes"
	"math/bits"
	"slices"
)

// inBand are the parameter sets of settings of H.264 or H.265 as they go before a picture in a packet.
// They are not ok unless these tell the lengths of their units in as many bytes as the stream's own do;
// with none, the settings are units themselves.
func inBand(settings []byte, own, prefix int, sets func([]byte) [][]byte) (units []byte, ok bool) {
	if own != prefix || prefix == 0 {
		return settings, own == prefix
	}
	for _, set := range sets(settings) {
		if len(set)>>(8*prefix) > 0 {
			return nil, false
		}
		for i := prefix - 1; i >= 0; i-- {
			units = append(units, byte(len(set)>>(8*i)))
		}
		units = append(units, set...)
	}
	return units, true
}

// h264Sets are the parameter sets of settings of H.264: ISO/IEC 14496-15, 5.3.3.1.
func h264Sets(settings []byte) (sets [][]byte) {
	rest := settings[5:]
	for _, mask := range []byte{0x1f, 0xff} {
		if len(rest) == 0 {
			break
		}
		var some [][]byte
		some, rest = takeSets(rest[1:], int(rest[0]&mask))
		sets = append(sets, some...)
	}
	return sets
}

// h265Sets are those of H.265: 8.3.3.1.
func h265Sets(settings []byte) (sets [][]byte) {
	rest := settings[22:]
	if len(rest) == 0 {
		return nil
	}
	kinds := int(rest[0])
	rest = rest[1:]
	for ; kinds > 0 && len(rest) >= 3; kinds-- {
		var some [][]byte
		some, rest = takeSets(rest[3:], int(rest[1])<<8|int(rest[2]))
		sets = append(sets, some...)
	}
	return sets
}

// takeSets takes so many sets off data, each with its length before it.
func takeSets(data []byte, count int) (sets [][]byte, rest []byte) {
	for ; count > 0 && len(data) >= 2; count-- {
		end := 2 + (int(data[0])<<8 | int(data[1]))
		if end > len(data) {
			return sets, nil
		}
		sets, data = append(sets, data[2:end]), data[end:]
	}
	return sets, data
}

// wholeOnly says whether settings of H.264 rule out that pictures are coded in two halves: 7.3.2.1.1.
// What few encoders write is not read on.
func wholeOnly(unit []byte) bool {
	r := bitReader{data: bytes.ReplaceAll(unit, []byte{0, 0, 3}, []byte{0, 0}), at: 32}
	r.golomb()
	if len(unit) > 1 && (unit[1] >= 100 || slices.Contains([]byte{44, 83, 86}, unit[1])) { // profiles with other colours
		other := r.golomb() == 3
		r.golomb()
		r.golomb()
		if r.bits(2)&1 != 0 || other { // scaling lists, or planes of their own
			return false
		}
	}
	r.golomb()
	switch r.golomb() { // the kind of order
	case 0:
		r.golomb()
	case 1:
		return false
	}
	r.golomb()
	r.bits(1)
	r.golomb()
	r.golomb()
	return r.bits(1) == 1
}

// bitReader reads numbers one after another, zeros behind the end.
type bitReader struct {
	data []byte
	at   int // in bits
}

func (r *bitReader) rest() uint64 { return bitsOf(r.data[min(r.at/8, len(r.data)):]) << (r.at % 8) }

func (r *bitReader) bits(n int) uint64 {
	value := r.rest() >> (64 - n)
	r.at += n
	return value
}

func (r *bitReader) golomb() int {
	n, _ := expGolomb(r.rest())
	r.at += 2*bits.Len(uint(n+1)) - 1
	return n
}
