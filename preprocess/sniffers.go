package preprocess

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// bmp: the magic is only two letters, so that the size of the second header has
// to be one that exists.
func bmp(head []byte) Format {
	if len(head) < 18 {
		return ""
	}
	switch binary.LittleEndian.Uint32(head[14:]) {
	case 12, 16, 40, 52, 56, 64, 108, 124:
		return BMP
	}
	return ""
}

// riff tells the contents of a RIFF file apart. Sound may also be in one of the
// variants, of which the decoder says what it thinks of them.
func riff(head []byte) Format {
	if len(head) < 12 {
		return ""
	}
	little := head[3] == 'F'
	switch kind := string(head[8:12]); {
	case kind == "WAVE":
		return WAV
	case kind == "WEBP" && little:
		return WebP
	case kind == "AVI " && little:
		return AVI
	}
	return ""
}

// ebml tells WebM from other Matroska files by the document type, which stands
// in the first few bytes.
func ebml(head []byte) Format {
	first := head[:min(len(head), 128)]
	switch {
	case documentType(first, "webm"):
		return WebM
	case documentType(first, "matroska"):
		return Matroska
	}
	return ""
}

// documentType says whether an EBML header has a DocType element (0x4282, its
// length in one byte or eight) of that name.
func documentType(head []byte, name string) bool {
	_, rest, found := bytes.Cut(head, []byte{0x42, 0x82})
	if !found || len(rest) == 0 {
		return false
	}
	length := 1
	for mask := byte(0x80); length <= 8 && rest[0]&mask == 0; mask >>= 1 {
		length++
	}
	return length <= 8 && len(rest) >= length && bytes.HasPrefix(rest[length:], []byte(name))
}

// ftyp tells the family of ISO base media files apart by their brands: the
// major one first, then the compatible ones.
func ftyp(head []byte) Format {
	all := brands(head)
	if all == nil {
		return ""
	}
	if f := filmOrSound(all[0]); f != "" {
		return f
	}
	if f := still(all); f != "" {
		return f
	}
	return MP4
}

// brands are those of an ISO base media file, the major one first; nil: it is none.
func brands(head []byte) []string {
	if len(head) < 12 || string(head[4:8]) != "ftyp" {
		return nil
	}
	size := int64(binary.BigEndian.Uint32(head))
	if size < 12 || size > 1024 {
		return nil
	}
	all := []string{string(head[8:12])}
	for at, end := int64(16), min(int64(len(head)), size); at+4 <= end; at += 4 {
		all = append(all, string(head[at:at+4]))
	}
	return all
}

// pictureOfFilm is the format of the picture that a file may be although its major brand is that of a film
// or of sound, as some programs write it: browsers go by the compatible ones, too. Empty: it is none.
func pictureOfFilm(head []byte) Format {
	all := brands(head)
	if all == nil || filmOrSound(all[0]) == "" {
		return ""
	}
	return still(all)
}

// filmOrSound is the format that the major brand of a film or of sound stands for. Such files may be
// compatible with pictures, too, which says nothing of what they are: their tracks do.
func filmOrSound(major string) Format {
	switch {
	case major == "qt  ":
		return MOV
	case strings.HasPrefix(major, "M4A"), strings.HasPrefix(major, "M4B"):
		return M4A
	case strings.HasPrefix(major, "3g"):
		return ThreeGP
	case strings.HasPrefix(major, "iso"), strings.HasPrefix(major, "mp4"), strings.HasPrefix(major, "M4"),
		major == "avc1", major == "dash":
		return MP4
	}
	return ""
}

// still finds the brand of a picture. The generic brands mif1 and msf1 say only
// that it is one; the codec is among the compatible brands.
func still(brands []string) Format {
	generic := false
	for _, b := range brands {
		switch b {
		case "avif", "avis":
			return AVIF
		case "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs":
			return HEIC
		case "mif1", "msf1":
			generic = true
		}
	}
	if generic {
		return HEIC
	}
	return ""
}

// quickTime recognises a file that begins without ftyp, as old cameras and
// QuickTime wrote it: its first box has a length that makes sense, and another
// known box follows if it is in sight.
func quickTime(head []byte) Format {
	size := int64(binary.BigEndian.Uint32(head))
	if size == 1 && len(head) >= 16 { // the length is in the next eight bytes
		size = int64(binary.BigEndian.Uint64(head[8:]) & (1<<62 - 1))
	}
	if size < 8 && size != 0 {
		return ""
	}
	if size == 0 || size+8 > int64(len(head)) {
		return MOV
	}
	switch string(head[size+4 : size+8]) {
	case "moov", "mdat", "wide", "free", "skip", "ftyp", "uuid", "udta", "pnot", "PICT":
		return MOV
	}
	return ""
}

// id3 finds out what follows a tag, which MP3, AAC, FLAC, OGG and WAV files begin with. It
// takes what is out of sight for MP3.
func id3(head []byte) Format {
	size := ID3Size(head)
	switch {
	case size == 0:
		return ""
	case size < int64(len(head)):
		return tagged(head[size:])
	}
	return MP3
}

// tagged tells apart what follows a tag.
func tagged(rest []byte) Format {
	switch {
	case ID3Size(rest) > 0:
		return id3(rest)
	case bytes.HasPrefix(rest, []byte("fLaC")):
		return FLAC
	case bytes.HasPrefix(rest, []byte("OggS")):
		return OGG
	case riff(rest) == WAV:
		return WAV
	case adts(rest):
		return AAC
	}
	return MP3
}

// ID3Size is the length in bytes of the ID3 tag that head begins with, or 0; ten bytes are
// enough. ID3v2.4.0, 3.1.
func ID3Size(head []byte) int64 {
	if len(head) < 10 || string(head[:3]) != "ID3" || head[3] == 0xff || head[4] == 0xff ||
		(head[6]|head[7]|head[8]|head[9])&0x80 != 0 {
		return 0
	}
	size := 10 + (int64(head[6])<<21 | int64(head[7])<<14 | int64(head[8])<<7 | int64(head[9]))
	if head[5]&0x10 != 0 {
		size += 10 // a footer
	}
	return size
}

// adts recognises a bare AAC stream by two frame headers in a row, or by one
// that reaches beyond what is there.
func adts(head []byte) bool {
	length := adtsFrame(head)
	return length > 0 && (length+7 > len(head) || adtsFrame(head[length:]) > 0)
}

// adtsWithin recognises a bare AAC stream that does not begin on a frame, as a recording of a
// station that was cut, by three frames in a row, as mpegAudioWithin does.
func adtsWithin(head []byte) bool {
	for at := range head {
		if next := nextADTS(head, at); next > 0 && nextADTS(head, next) > 0 {
			return true
		}
	}
	return false
}

// nextADTS is where the frame behind the one that begins there begins, if it is in sight and of
// the same version, profile and sampling rate; else 0.
func nextADTS(head []byte, at int) int {
	length := adtsFrame(head[at:])
	next := at + length
	if length == 0 || next >= len(head) || adtsFrame(head[next:]) == 0 || !bytes.Equal(head[at:at+3], head[next:next+3]) {
		return 0
	}
	return next
}

// adtsFrame is the length of the ADTS frame that begins here, or 0.
func adtsFrame(b []byte) int {
	if len(b) < 7 || b[0] != 0xff || b[1]&0xf6 != 0xf0 || b[2]>>2&15 > 12 {
		return 0
	}
	length := int(b[3]&3)<<11 | int(b[4])<<3 | int(b[5])>>5
	if length < 7 {
		return 0
	}
	return length
}
