package preprocess

import "bytes"

// Sniff recognises a file by its first bytes; SniffBytes are enough. It never looks
// at names or declared types.
func Sniff(head []byte) (Format, bool) {
	for _, s := range signatures() {
		if len(head) >= s.at+len(s.magic) && bytes.Equal(head[s.at:s.at+len(s.magic)], []byte(s.magic)) {
			if s.more == nil {
				return s.format, true
			}
			if format := s.more(head); format != "" {
				return format, true
			}
		}
	}
	if adts(head) {
		return AAC, true
	}
	if mpegAudio(head) || mpegAudioWithin(head) {
		return MP3, true
	}
	if adtsWithin(head) {
		return AAC, true
	}
	return "", false
}

// signature is a magic string, where it stands, and what it means: a format, or
// whatever more finds.
type signature struct {
	at     int
	magic  string
	format Format
	more   func(head []byte) Format
}

// signatures lists what is recognised by a fixed string.
func signatures() []signature {
	return []signature{
		{0, "\xff\xd8\xff", JPEG, nil},
		{0, "\x89PNG\r\n\x1a\n", PNG, nil},
		{0, "GIF87a", GIF, nil},
		{0, "GIF89a", GIF, nil},
		{0, "BM", "", bmp},
		{0, "II*\x00", TIFF, nil},
		{0, "MM\x00*", TIFF, nil},
		{0, "II+\x00", TIFF, nil}, // BigTIFF, which checkHeader refuses
		{0, "MM\x00+", TIFF, nil},
		{0, "RIFF", "", riff},
		{0, "RIFX", "", riff},
		{0, "RF64", "", riff},
		{0, "BW64", "", riff},
		{0, "fLaC", FLAC, nil},
		{0, "OggS", OGG, nil},
		{0, "#!AMR\n", AMR, nil},
		{0, "#!AMR-WB\n", AMRWB, nil},
		{0, "\x1a\x45\xdf\xa3", "", ebml},
		{0, "ID3", "", id3},
		{4, "ftyp", "", ftyp},
		{4, "moov", "", quickTime},
		{4, "mdat", "", quickTime},
		{4, "wide", "", quickTime},
		{4, "free", "", quickTime},
		{4, "skip", "", quickTime},
	}
}
