package preprocess_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"deepfaked/preprocess"
)

// box is a box of an ISO base media file.
func box(kind, body string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))) + kind + body
}

// mp3Frame is a frame of MPEG-1 layer 3 at 128 kbit/s and 44.1 kHz.
func mp3Frame() string { return "\xff\xfb\x90\x00" + strings.Repeat("\x00", 413) }

// adtsFrame is a frame of AAC-LC of 16 bytes.
func adtsFrame() string { return "\xff\xf1\x50\x80\x02\x1f\xfc" + strings.Repeat("\x00", 9) }

// known is a beginning of each format.
func known() map[string]struct {
	head   string
	format preprocess.Format
} {
	type entry = struct {
		head   string
		format preprocess.Format
	}
	ftyp := func(major string, compatible ...string) string {
		return box("ftyp", major+"\x00\x00\x00\x00"+strings.Join(compatible, "")) + box("moov", "")
	}
	return map[string]entry{
		"JPEG":            {"\xff\xd8\xff\xe0\x00\x10JFIF", preprocess.JPEG},
		"PNG":             {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", preprocess.PNG},
		"WebP":            {"RIFF\x10\x00\x00\x00WEBPVP8 ", preprocess.WebP},
		"GIF87a":          {"GIF87a\x01\x00\x01\x00", preprocess.GIF},
		"GIF89a":          {"GIF89a\x01\x00\x01\x00", preprocess.GIF},
		"BMP":             {"BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00", preprocess.BMP},
		"BMP of OS/2":     {"BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x0c\x00\x00\x00", preprocess.BMP},
		"TIFF little":     {"II*\x00\x08\x00\x00\x00", preprocess.TIFF},
		"TIFF big":        {"MM\x00*\x00\x00\x00\x08", preprocess.TIFF},
		"BigTIFF little":  {"II+\x00\x08\x00\x00\x00", preprocess.TIFF},
		"BigTIFF big":     {"MM\x00+\x00\x08\x00\x00", preprocess.TIFF},
		"HEIC":            {ftyp("heic", "mif1", "heic"), preprocess.HEIC},
		"HEIC, generic":   {ftyp("mif1", "mif1", "heic"), preprocess.HEIC},
		"HEIC sequence":   {ftyp("hevc", "msf1"), preprocess.HEIC},
		"AVIF":            {ftyp("avif", "mif1", "miaf"), preprocess.AVIF},
		"AVIF, generic":   {ftyp("mif1", "miaf", "avif"), preprocess.AVIF},
		"AVIF sequence":   {ftyp("avis", "msf1"), preprocess.AVIF},
		"WAV":             {"RIFF\x24\x00\x00\x00WAVEfmt ", preprocess.WAV},
		"WAV, big-endian": {"RIFX\x00\x00\x00\x24WAVEfmt ", preprocess.WAV},
		"WAV, 64 bits":    {"RF64\xff\xff\xff\xffWAVEds64", preprocess.WAV},
		"WAV, broadcast":  {"BW64\xff\xff\xff\xffWAVEds64", preprocess.WAV}, // was not known, but decoded
		"WAV with a tag":  {"ID3\x04\x00\x00\x00\x00\x00\x00RIFF\x24\x00\x00\x00WAVEfmt ", preprocess.WAV},
		"FLAC, two tags":  {"ID3\x04\x00\x00\x00\x00\x00\x00ID3\x04\x00\x00\x00\x00\x00\x00fLaC", preprocess.FLAC},
		"MP3":             {mp3Frame() + mp3Frame(), preprocess.MP3},
		"MP3, one frame":  {mp3Frame()[:100], preprocess.MP3},
		"MP3, cut":        {mp3Frame()[100:] + strings.Repeat(mp3Frame(), 3), preprocess.MP3},
		"MP3, zeros":      {strings.Repeat("\x00", 2000) + strings.Repeat(mp3Frame(), 3), preprocess.MP3},
		"MP3 with a tag":  {"ID3\x04\x00\x00\x00\x00\x00\x0a" + strings.Repeat("\x00", 10) + mp3Frame(), preprocess.MP3},
		"MP3, long tag":   {"ID3\x03\x00\x00\x00\x01\x00\x00TIT2", preprocess.MP3},
		"AAC":             {adtsFrame() + adtsFrame(), preprocess.AAC},
		"AAC, cut":        {adtsFrame()[5:] + strings.Repeat(adtsFrame(), 3), preprocess.AAC}, // was not known
		"AAC with a tag":  {"ID3\x04\x00\x00\x00\x00\x00\x0a" + strings.Repeat("\x00", 10) + adtsFrame(), preprocess.AAC},
		"FLAC":            {"fLaC\x00\x00\x00\x22", preprocess.FLAC},
		"OGG":             {"OggS\x00\x02", preprocess.OGG},
		"AMR":             {"#!AMR\n\x3c", preprocess.AMR},
		"AMR-WB":          {"#!AMR-WB\n\x24", preprocess.AMRWB},
		"MP4":             {ftyp("isom", "isom", "iso2", "avc1", "mp41"), preprocess.MP4},
		"MP4, dash":       {ftyp("dash", "iso6"), preprocess.MP4},
		"MP4 with stills": {ftyp("mp42", "isom", "mp42", "heic", "mif1"), preprocess.MP4}, // was refused as a damaged HEIC
		"MOV with stills": {ftyp("qt  ", "qt  ", "heic"), preprocess.MOV},
		"M4A":             {ftyp("M4A ", "isom"), preprocess.M4A},
		"M4B":             {ftyp("M4B ", "isom"), preprocess.M4A},
		"3GP":             {ftyp("3gp4", "isom"), preprocess.ThreeGP},
		"3G2":             {ftyp("3g2a"), preprocess.ThreeGP},
		"MOV":             {ftyp("qt  "), preprocess.MOV},
		"MOV, wide first": {box("wide", "") + box("mdat", "x"), preprocess.MOV},
		"MOV, moov first": {box("moov", "x") + box("mdat", "x"), preprocess.MOV},
		"MOV, long mdat":  {"\x00\x00\x00\x01mdat\x00\x00\x00\x00\x01\x00\x00\x00", preprocess.MOV},
		"WebM":            {"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm\x42\x87\x81\x04", preprocess.WebM},
		"MKV":             {"\x1a\x45\xdf\xa3\xa3\x42\x86\x81\x01\x42\x82\x88matroska", preprocess.Matroska},
		"MKV, long size":  {"\x1a\x45\xdf\xa3\x01\x00\x00\x00\x00\x00\x00\x23\x42\x82\x10\x00\x00\x08matroska", preprocess.Matroska},
		"AVI":             {"RIFF\x24\x00\x00\x00AVI LIST", preprocess.AVI},
	}
}

func TestSniff(t *testing.T) {
	t.Parallel()
	for name, test := range known() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := preprocess.Sniff([]byte(test.head)); !ok || got != test.format {
				t.Fatalf("got %q, %v, want %s", got, ok, test.format)
			}
		})
	}
}

func TestSniffRefuses(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{
		"nothing":                "",
		"text":                   "hello, world",
		"HTML":                   "<!DOCTYPE html>",
		"SVG":                    "<svg xmlns=\"http://www.w3.org/2000/svg\">",
		"ZIP":                    "PK\x03\x04",
		"ELF":                    "\x7fELF\x02\x01\x01",
		"PDF":                    "%PDF-1.7",
		"JPEG 2000":              "\x00\x00\x00\x0cjP  \r\n\x87\n",
		"EXR":                    "\x76\x2f\x31\x01",
		"Radiance":               "#?RADIANCE\n",
		"PNM":                    "P6\n1 1\n255\n",
		"playlist":               "#EXTM3U\n",
		"concat script":          "ffconcat version 1.0\nfile /etc/passwd\n",
		"BM text":                "BMW is a car maker from Bavaria",
		"other RIFF":             "RIFF\x24\x00\x00\x00sfbk",
		"other EBML":             "\x1a\x45\xdf\xa3\x9f\x42\x82\x84nope",
		"two bytes of MP3":       "\xff\xfb",
		"MP3 sync in noise":      "\xff\xfb\x90\x00" + strings.Repeat("\x55", 1000),
		"two frames in text":     "hello, world" + mp3Frame() + mp3Frame() + "hello, world",
		"two AAC frames in text": "hello, world" + adtsFrame() + adtsFrame() + "hello, world",
		"unlike AAC frames":      "hello, world" + adtsFrame() + strings.Replace(adtsFrame(), "\x50", "\x4c", 1) + adtsFrame() + "hello, world",
		"three unlike frames":    "hello, world" + mp3Frame() + strings.Replace(mp3Frame(), "\x90", "\x94", 1) + mp3Frame(),
		"a cut JPEG":             strings.Repeat("\xff\x00\xff\xd0\xff\xe2\xff\xdb\x7f", 500),
		"ADTS sync in noise":     "\xff\xf1\x50\x80\x02\x1f\xfc" + strings.Repeat("\x55", 1000),
		"UTF-16 text":            "\xff\xfeh\x00e\x00l\x00l\x00o\x00",
		"short ftyp":             "\x00\x00\x00\x08ftyp",
		"moov and rubbish":       box("moov", "x") + "rubbish of some length",
		"JPEG without a segment": "\xff\xd8",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := preprocess.Sniff([]byte(head)); ok {
				t.Fatalf("it is taken for %s", got)
			}
		})
	}
}

// An MP3 need not begin on a frame; noise must not become one for that.
func TestSniffTakesNoNoiseForMP3(t *testing.T) {
	t.Parallel()
	noise := rand.New(rand.NewPCG(1, 2))
	head := make([]byte, preprocess.SniffBytes)
	for range 5000 {
		for i := range head {
			head[i] = byte(noise.Uint32() | noise.Uint32()>>8&noise.Uint32()>>16) // many ones
		}
		head[0] = 0 // it begins as nothing
		if got, ok := preprocess.Sniff(head); ok {
			t.Fatalf("it is taken for %s", got)
		}
	}
}

// FuzzSniff also holds that what is recognised is so by its beginning alone.
func FuzzSniff(f *testing.F) {
	for _, test := range known() {
		f.Add([]byte(test.head))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		format, ok := preprocess.Sniff(head)
		if ok != (format != "") {
			t.Fatalf("%q and %v", format, ok)
		}
		if _, again := preprocess.Sniff(bytes.Clone(head)); again != ok {
			t.Fatal("two answers")
		}
	})
}
