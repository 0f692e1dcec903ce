package decode

import "bytes"

// Containers lie about key frames: files that were broken off or written carelessly call every packet
// one. So packets are asked themselves, up to where their picture begins; where they say nothing, the
// container counts.

// h265Starts says whether the picture of a packet of H.265 rests on no other, by the kind of its
// first unit that holds a part of it: table 7-1.
func h265Starts(packet []byte, prefix int) bool {
	for len(packet) > 0 {
		var unit []byte
		if unit, packet = nextUnit(packet, prefix); len(unit) == 0 {
			continue
		}
		if kind := unit[0] >> 1 & 0x3f; kind < 32 {
			return kind >= 16 && kind <= 23
		}
	}
	return true
}

// h265Prefix is unitPrefix of H.265: ISO/IEC 14496-15, 8.3.3.1. Some writers leave the version at 0.
func h265Prefix(settings []byte) int {
	if len(settings) < 22 || settings[0] == 0 && settings[1] == 0 && settings[2] <= 1 {
		return 0
	}
	return int(settings[21]&3) + 1
}

// mpeg4Starts says the same of MPEG-4: ISO/IEC 14496-2, 6.2.5.
func mpeg4Starts(packet []byte) bool {
	_, picture, found := bytes.Cut(packet, []byte{0, 0, 1, 0xb6})
	return !found || len(picture) > 0 && picture[0]>>6 == 0
}

// divxStarts says the same of what DivX 3 and Windows made of MPEG-4.
func divxStarts(packet []byte) bool { return len(packet) > 0 && packet[0]>>6 == 0 }
