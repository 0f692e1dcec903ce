package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"deepfaked/preprocess"
)

// riff puts chunks into a RIFF file with the given first four bytes.
func riff(id string, chunks ...[]byte) []byte {
	body := append([]byte("WAVE"), bytes.Join(chunks, nil)...)
	b := binary.LittleEndian.AppendUint32([]byte(id), uint32(len(body)))
	return append(b, body...)
}

// riffChunk is a chunk that says it has length bytes.
func riffChunk(id string, length uint32, content []byte) []byte {
	b := append(binary.LittleEndian.AppendUint32([]byte(id), length), content...)
	if len(content)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

// format is a fmt chunk of 16 bytes.
func format(tag, channels, rate, bits int) []byte {
	align := channels * ((bits + 7) / 8)
	return formatAligned(tag, channels, rate, bits, align)
}

func formatAligned(tag, channels, rate, bits, align int) []byte {
	var b []byte
	b = binary.LittleEndian.AppendUint16(b, uint16(tag))
	b = binary.LittleEndian.AppendUint16(b, uint16(channels))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate*align))
	b = binary.LittleEndian.AppendUint16(b, uint16(align))
	b = binary.LittleEndian.AppendUint16(b, uint16(bits))
	return riffChunk("fmt ", 16, b)
}

// extensible is a fmt chunk of 40 bytes with a GUID that ends in tail.
func extensible(tag, channels, rate, bits int, tail string) []byte {
	b := format(wavExtensible, channels, rate, bits)
	binary.LittleEndian.PutUint32(b[4:], 40)
	b = binary.LittleEndian.AppendUint16(b, 22)
	b = binary.LittleEndian.AppendUint16(b, uint16(bits))
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(tag))
	return append(b, tail...)
}

// zeroes is a data chunk of n zero bytes.
func zeroes(n int) []byte { return riffChunk("data", uint32(n), make([]byte, n)) }

func TestParseWAVTakes(t *testing.T) {
	t.Parallel()
	ds64 := riffChunk("ds64", 28, binary.LittleEndian.AppendUint64(make([]byte, 8, 28), 3200)[:28])
	for name, tc := range map[string]struct {
		file []byte
		want wavSound
	}{
		"plain":           {riff("RIFF", format(1, 2, 44100, 16), zeroes(400)), wavSound{wavPCM, 2, 44100, 2, 44, 100, 0}},
		"odd chunk first": {riff("RIFF", riffChunk("junk", 3, []byte("abc")), format(1, 1, 8000, 8), zeroes(7)), wavSound{wavPCM, 1, 8000, 1, 56, 7, 0}},
		// Refused as damaged, where every player plays them.
		"odd, unpadded":    {riff("RIFF", riffChunk("LIST", 3, []byte("abc"))[:11], format(1, 1, 8000, 8), riffChunk("LIST", 3, []byte("abc"))[:11], zeroes(7)), wavSound{wavPCM, 1, 8000, 1, 66, 7, 0}},
		"12 bits in 16":    {riff("RIFF", format(1, 1, 8000, 12), zeroes(8)), wavSound{wavPCM, 1, 8000, 2, 44, 4, 0}},
		"float":            {riff("RIFF", format(3, 1, 48000, 32), zeroes(8)), wavSound{wavFloat, 1, 48000, 4, 44, 2, 0}},
		"float 64":         {riff("RIFF", format(3, 1, 48000, 64), zeroes(16)), wavSound{wavFloat, 1, 48000, 8, 44, 2, 0}},
		"A-law":            {riff("RIFF", format(6, 1, 8000, 8), zeroes(8)), wavSound{wavALaw, 1, 8000, 1, 44, 8, 0}},
		"µ-law":            {riff("RIFF", format(7, 1, 8000, 8), zeroes(8)), wavSound{wavMuLaw, 1, 8000, 1, 44, 8, 0}},
		"extensible":       {riff("RIFF", extensible(1, 6, 48000, 24, wavGUID), zeroes(180)), wavSound{wavPCM, 6, 48000, 3, 68, 10, 0}},
		"extensible float": {riff("RIFF", extensible(3, 1, 48000, 32, wavGUID), zeroes(8)), wavSound{wavFloat, 1, 48000, 4, 68, 2, 0}},
		"data of length 0": {riff("RIFF", format(1, 1, 8000, 16), riffChunk("data", 0, make([]byte, 64))), wavSound{wavPCM, 1, 8000, 2, 44, 32, 0}},
		"data without end": {riff("RIFF", format(1, 1, 8000, 16), riffChunk("data", 0xFFFFFFFF, make([]byte, 64))), wavSound{wavPCM, 1, 8000, 2, 44, 32, 0}},
		"behind two tags": {
			slices.Concat([]byte("ID3\x04\x00\x00\x00\x00\x00\x02xxID3\x03\x00\x00\x00\x00\x00\x00"), riff("RIFF", format(1, 1, 8000, 16), zeroes(8))),
			wavSound{wavPCM, 1, 8000, 2, 66, 4, 0},
		},
		"cut off":            {riff("RIFF", format(1, 1, 8000, 16), riffChunk("data", 9000, make([]byte, 64))), wavSound{wavPCM, 1, 8000, 2, 44, 32, 4468}},
		"cut off, RF64":      {riff("RF64", ds64, format(1, 1, 8000, 16), riffChunk("data", 0xFFFFFFFF, make([]byte, 2000))), wavSound{wavPCM, 1, 8000, 2, 80, 1000, 600}},
		"less than a sample": {riff("RIFF", format(1, 2, 8000, 16), riffChunk("data", 67, make([]byte, 64))), wavSound{wavPCM, 2, 8000, 2, 44, 16, 0}},
		"from a pipe":        {riff("RIFF", format(1, 1, 8000, 16), riffChunk("data", 0x7ffff000, make([]byte, 64))), wavSound{wavPCM, 1, 8000, 2, 44, 32, 0}},
		"half a sample":      {riff("RIFF", format(1, 2, 8000, 16), zeroes(66)), wavSound{wavPCM, 2, 8000, 2, 44, 16, 0}},
		"more after data":    {riff("RIFF", format(1, 1, 8000, 16), zeroes(64), riffChunk("LIST", 0x7FFFFFFF, nil)), wavSound{wavPCM, 1, 8000, 2, 44, 32, 0}},
		"RF64":               {riff("RF64", ds64, format(1, 1, 8000, 16), riffChunk("data", 0xFFFFFFFF, make([]byte, 4000))), wavSound{wavPCM, 1, 8000, 2, 80, 1600, 0}},
		"BW64":               {riff("BW64", ds64, format(1, 1, 8000, 16), riffChunk("data", 0xFFFFFFFF, make([]byte, 4000))), wavSound{wavPCM, 1, 8000, 2, 80, 1600, 0}},
		// These were refused, or said to hold no sound.
		"no alignment":        {riff("RIFF", formatAligned(1, 2, 8000, 16, 0), zeroes(64)), wavSound{wavPCM, 2, 8000, 2, 44, 16, 0}},
		"format twice":        {riff("RIFF", format(1, 1, 8000, 16), format(1, 1, 8000, 16), zeroes(64)), wavSound{wavPCM, 1, 8000, 2, 68, 32, 0}},
		"empty data first":    {riff("RIFF", format(1, 1, 8000, 16), zeroes(0), zeroes(0), riffChunk("LIST", 3, []byte("abc")), zeroes(64)), wavSound{wavPCM, 1, 8000, 2, 72, 32, 0}},
		"empty data, cut off": {riff("RIFF", format(1, 1, 8000, 16), zeroes(0), riffChunk("data", 9000, make([]byte, 64))), wavSound{wavPCM, 1, 8000, 2, 52, 32, 4468}},
		// Nothing told that only the first was judged.
		"data twice":          {riff("RIFF", format(1, 1, 8000, 8), zeroes(63), riffChunk("LIST", 3, []byte("abc")), zeroes(40)), wavSound{wavPCM, 1, 8000, 1, 44, 63, 40}},
		"RF64 without length": {riff("RF64", format(1, 1, 8000, 16), riffChunk("data", 0xFFFFFFFF, make([]byte, 64))), wavSound{wavPCM, 1, 8000, 2, 44, 32, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseWAV(bytes.NewReader(tc.file), int64(len(tc.file)))
			if err != nil || got != tc.want {
				t.Fatalf("got %+v, %v; want %+v", got, err, tc.want)
			}
		})
	}
}

func TestParseWAVRefuses(t *testing.T) {
	t.Parallel()
	plain := format(1, 1, 8000, 16)
	for name, tc := range map[string]struct {
		file []byte
		says string // of a *preprocess.Error; empty for damage
	}{
		"nothing":               {nil, ""},
		"text":                  {[]byte("RIFF is a format, and this is a sentence."), ""},
		"header only":           {riff("RIFF"), ""},
		"no data":               {riff("RIFF", plain), ""},
		"data first":            {riff("RIFF", zeroes(8), plain), ""},
		"two formats":           {riff("RIFF", plain, format(1, 1, 16000, 16), zeroes(8)), ""},
		"short format":          {riff("RIFF", riffChunk("fmt ", 14, make([]byte, 14)), zeroes(8)), ""},
		"huge format":           {riff("RIFF", riffChunk("fmt ", 8000, make([]byte, 8000)), zeroes(8)), ""},
		"chunk beyond the file": {riff("RIFF", plain, riffChunk("LIST", 1<<30, nil), zeroes(8)), ""},
		"library bomb":          {riff("RIFF", riffChunk("LIST", 0x40000000, []byte("INFOxxxx")), plain)[:52], ""},
		"no channels":           {riff("RIFF", format(1, 0, 8000, 16), zeroes(8)), ""},
		"65535 channels":        {riff("RIFF", formatAligned(1, 65535, 8000, 16, 2), zeroes(8)), ""},
		"rate 0":                {riff("RIFF", format(1, 1, 0, 16), zeroes(8)), ""},
		"rate of 4 GHz":         {riff("RIFF", format(1, 1, 0xFFFFFFFF, 16), zeroes(8)), ""},
		"no bits":               {riff("RIFF", format(1, 1, 8000, 0), zeroes(8)), ""},
		"wrong alignment":       {riff("RIFF", formatAligned(1, 2, 8000, 16, 2), zeroes(8)), ""},
		"ds64 in RIFF":          {riff("RIFF", riffChunk("ds64", 28, make([]byte, 28)), plain, zeroes(8)), ""},
		"thousands of chunks":   {riff("RIFF", bytes.Repeat(riffChunk("junk", 0, nil), 20_000), plain, zeroes(8)), ""},
		"empty":                 {riff("RIFF", plain, riffChunk("data", 0, nil)), "no sound"},
		// It was taken for a length that was never filled in, and the tags for sound.
		"empty, and tags":    {riff("RIFF", plain, riffChunk("data", 0, nil), riffChunk("LIST", 9, []byte("INFOISFTx")), riffChunk("id3 ", 4000, make([]byte, 4000))), "no sound"},
		"RIFX":               {riff("RIFX", plain, zeroes(8)), "big-endian"},
		"MP3 inside":         {riff("RIFF", format(0x55, 1, 8000, 16), zeroes(8)), "0x0055"},
		"ADPCM":              {riff("RIFF", formatAligned(2, 1, 8000, 4, 256), zeroes(512)), "0x0002"},
		"foreign GUID":       {riff("RIFF", extensible(1, 1, 8000, 16, strings.Repeat("x", 14)), zeroes(8)), "extensible"},
		"extensible without": {riff("RIFF", format(wavExtensible, 1, 8000, 16), zeroes(8)), "extensible"},
		"float of 16 bits":   {riff("RIFF", format(3, 1, 8000, 16), zeroes(8)), "16 bits"},
		// FFmpeg takes them for floating point, others for integers at either end. They were called damaged.
		"24 bits in four bytes": {riff("RIFF", formatAligned(1, 2, 8000, 24, 8), zeroes(8)), "24 bits in four bytes"},
		"integers of 64 bits":   {riff("RIFF", format(1, 1, 8000, 64), zeroes(8)), "64 bits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseWAV(bytes.NewReader(tc.file), int64(len(tc.file)))
			wantWAVFault(t, err, tc.says)
		})
	}
}

// wantWAVFault fails unless err is damage, or says what is not supported.
func wantWAVFault(t *testing.T, err error, says string) {
	t.Helper()
	var fault *preprocess.Error
	switch {
	case says == "" && !errors.Is(err, errDamagedWAV):
		t.Fatalf("got %v, want damage", err)
	case says != "" && (!errors.As(err, &fault) || fault.Code != preprocess.UnsupportedMediaType || !strings.Contains(fault.Message, says)):
		t.Fatalf("got %v, want a sentence with %q", err, says)
	}
}

// FuzzWAV feeds whole files to the chunk walker and, when it takes them, reads
// every sample: none may fail, and there are as many as were promised.
func FuzzWAV(f *testing.F) {
	f.Add(riff("RIFF", format(1, 2, 44100, 16), zeroes(400)))
	f.Add(riff("RIFF", riffChunk("LIST", 0x40000000, []byte("INFO")), format(1, 1, 8000, 16)))
	f.Add(riff("RIFF", extensible(3, 1, 48000, 32, wavGUID), zeroes(8)))
	f.Add(riff("RIFF", format(7, 3, 8000, 8), riffChunk("data", 0xFFFFFFFF, make([]byte, 64))))
	f.Add(riff("RF64", riffChunk("ds64", 28, bytes.Repeat([]byte{0xFF}, 28)), format(1, 1, 8000, 24), zeroes(9)))
	f.Add(riff("BW64", format(1, 1, 8000, 16), riffChunk("data", 0xFFFFFFFF, make([]byte, 64))))
	f.Add(riff("RIFF", format(1, 1, 8000, 16), riffChunk("data", 0, nil), riffChunk("LIST", 9, []byte("INFOISFTx"))))
	f.Add(riff("RIFF", format(1, 1, 8000, 16), zeroes(0), format(1, 1, 8000, 16), zeroes(8), zeroes(8)))
	f.Add(riff("RIFX", format(1, 1, 8000, 16), zeroes(8)))
	f.Add(append([]byte("ID3\x04\x00\x00\x00\x00\x00\x02xx"), riff("RIFF", format(1, 1, 8000, 16), zeroes(8))...))
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := parseWAV(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		if s.Frames < 1 || s.DataAt+s.Frames*int64(s.Block()) > int64(len(file)) {
			t.Fatalf("%+v in %d bytes", s, len(file))
		}
		got := readAll(t, file, s)
		if int64(len(got)) != s.Frames {
			t.Fatalf("%d samples of %d", len(got), s.Frames)
		}
		for _, x := range got {
			if !(x >= -1 && x <= 1) {
				t.Fatalf("a sample of %v", x)
			}
		}
	})
}

// readAll reads every sample of a checked file.
func readAll(t *testing.T, file []byte, s wavSound) []float32 {
	t.Helper()
	next, err := openWAV(bytes.NewReader(file), s, &mixer{})
	if err != nil {
		t.Fatal(err)
	}
	var all []float32
	block := make([]float32, 1000)
	for {
		n, err := next(block)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return all
		}
		all = append(all, block[:n]...)
	}
}
