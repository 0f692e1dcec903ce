package heif

import (
	"encoding/binary"
	"slices"
)

// sequences are the brands of files with pictures that are shown one after the other: of any codec, of
// H.265 and of AV1 (ISO/IEC 23008-12, annex B and C; AV1 Image File Format, section 6).
var sequences = []string{"msf1", "hevc", "hevx", "avis"}

// IsSequence says whether a file has more pictures to be shown than one, by the brands in its first box.
func IsSequence(data []byte) bool {
	if len(data) < 16 || string(data[4:8]) != "ftyp" {
		return false
	}
	brands := data[8:min(int64(len(data)), max(int64(binary.BigEndian.Uint32(data)), 16))]
	for i := 0; i+4 <= len(brands); i += 4 {
		if i != 4 && slices.Contains(sequences, string(brands[i:i+4])) { // the second is a version
			return true
		}
	}
	return false
}
