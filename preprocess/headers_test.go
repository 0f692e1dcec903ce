package preprocess

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// png60000 declares 60,000 by 60,000 pixels.
func png60000() []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	b = binary.BigEndian.AppendUint32(b, 60_000)
	return append(binary.BigEndian.AppendUint32(b, 60_000), 8, 2, 0, 0, 0)
}

// bombs declare more than the limits allow, each in its way.
func bombs() map[string]struct {
	format Format
	data   []byte
} {
	type entry = struct {
		format Format
		data   []byte
	}
	tiff := "\x08\x00\x00\x00\x02\x00" +
		"\x00\x01\x04\x00\x01\x00\x00\x00\x60\xea\x00\x00" + "\x01\x01\x04\x00\x01\x00\x00\x00\x60\xea\x00\x00"
	return map[string]entry{
		"JPEG": {JPEG, []byte("\xff\xd8\xff\xe0\x00\x04JF\xff\xff\xff\xc2\x00\x0b\x08\xff\xff\xff\xff\x01\x01\x11\x00")},
		"PNG":  {PNG, png60000()},
		"GIF":  {GIF, []byte("GIF89a\xff\xff\xff\xff\x00\x00\x00")},
		"BMP":  {BMP, []byte("BM____________\x28\x00\x00\x00\x60\xea\x00\x00\xa0\x15\xff\xff\x01\x00\x18\x00")},
		"BMP of OS/2": {
			BMP, []byte("BM____________\x0c\x00\x00\x00\xff\xff\xff\xff\x01\x00\x18\x00"),
		},
		"WebP": {WebP, []byte("RIFF\x16\x00\x00\x00WEBPVP8 \x0a\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\xff\x3f\xff\x3f")},
		"WebP lossless": {
			WebP, []byte("RIFF\x16\x00\x00\x00WEBPVP8L\x0a\x00\x00\x00\x2f\xff\xff\xff\x0f\x00\x00\x00\x00\x00"),
		},
		"WebP extended": {
			WebP, []byte("RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\xff\xff\x00"),
		},
		"TIFF": {TIFF, []byte("II*\x00" + tiff + "\x00\x00\x00\x00")},
		// The first of two tags counts for libtiff; the last did for the limit.
		// Where its width is was taken for the width.
		"TIFF of 64 bits": {TIFF, []byte("II*\x00\x08\x00\x00\x00\x02\x00" +
			"\x00\x01\x10\x00\x01\x00\x00\x00\x26\x00\x00\x00" + "\x01\x01\x10\x00\x01\x00\x00\x00\x26\x00\x00\x00" +
			"\x00\x00\x00\x00\x60\xea\x00\x00\x00\x00\x00\x00")},
		"TIFF of two widths": {TIFF, []byte("II*\x00\x08\x00\x00\x00\x03\x00" + tiff[6:] +
			"\x00\x01\x04\x00\x01\x00\x00\x00\x01\x00\x00\x00")},
	}
}

func TestDeclaredBombs(t *testing.T) {
	t.Parallel()
	for name, test := range bombs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := Sniff(test.data); !ok || got != test.format {
				t.Fatalf("it is taken for %q", got)
			}
			_, err := inspect(bytes.NewReader(test.data), int64(len(test.data)), Audio, DefaultLimits())
			var fault *Error
			if !errors.As(err, &fault) || fault.Code != PayloadTooLarge {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(fault.Message, "at most 64000000 are allowed") {
				t.Fatalf("the message is %q", fault.Message)
			}
		})
	}
}

// TestBigTIFF: large scans are written as BigTIFF, and were said to be of no known format. They
// are refused by name, and not read as the TIFF files that they are not.
func TestBigTIFF(t *testing.T) {
	t.Parallel()
	for _, head := range []string{"II+\x00\x08\x00\x00\x00\x10\x00\x00\x00", "MM\x00+\x00\x08\x00\x00\x00\x00\x00\x10"} {
		for _, file := range []string{head + strings.Repeat("\x00", 100), head[:8]} {
			_, err := inspect(strings.NewReader(file), int64(len(file)), Image, DefaultLimits())
			var fault *Error
			if !errors.As(err, &fault) || fault.Code != UnsupportedMediaType || !strings.Contains(fault.Message, "BigTIFF") {
				t.Errorf("%q: %v", file[:4], err)
			}
		}
	}
}

// TestStrayBytesInAJPEG: zeros between segments, as some cameras leave them, made
// the picture one of an unknown kind.
func TestStrayBytesInAJPEG(t *testing.T) {
	t.Parallel()
	data := []byte("\xff\xd8\xff\xe0\x00\x04JF\x00\x00\xff\x00\xff\xff\xc2\x00\x0b\x08\x00\x1e\x00\x28\x01\x01\x11\x00")
	if got, err := jpegDimensions(bytes.NewReader(data), int64(len(data))); err != nil || got != (dimensions{w: 40, h: 30}) {
		t.Fatalf("%+v, %v", got, err)
	}
}

// TestPaddingInAJPEG: more than ten thousand bytes between two segments were too many, as if each
// were a segment.
func TestPaddingInAJPEG(t *testing.T) {
	t.Parallel()
	frame := "\xff\xc2\x00\x0b\x08\x00\x1e\x00\x28\x01\x01\x11\x00"
	for _, padding := range []string{"\xff", "\x00"} {
		for n := range 1100 {
			data := "\xff\xd8\xff\xe0\x00\x04JF" + strings.Repeat(padding, 20_000+n) + frame
			if got, err := jpegDimensions(strings.NewReader(data), int64(len(data))); err != nil || got != (dimensions{w: 40, h: 30}) {
				t.Fatalf("%d times %q: %+v, %v", 20_000+n, padding, got, err)
			}
		}
	}
	if _, err := jpegDimensions(strings.NewReader("\xff\xd8"+strings.Repeat("\xff", 512)), 514); !errors.Is(err, errHeader) {
		t.Errorf("nothing but padding: %v", err)
	}
}

// TestHeadersCutOff: no beginning of a bomb passes.
func TestHeadersCutOff(t *testing.T) {
	t.Parallel()
	for name, test := range bombs() {
		for n := range test.data {
			_, err := inspect(bytes.NewReader(test.data[:n]), int64(n), "", DefaultLimits())
			if fault := new(Error); !errors.As(err, &fault) {
				t.Errorf("%d bytes of %s: %v", n, name, err)
			}
		}
	}
}

// TestLongTags: FLAC and AAC files behind a tag with a cover were taken for MP3,
// since only the first 4 KiB were looked at, and refused as damaged. So were OGG files
// behind any tag.
func TestLongTags(t *testing.T) {
	t.Parallel()
	tag := "ID3\x04\x00\x00\x00\x03\x00\x00" + strings.Repeat("\x00", 3<<14)
	aac := strings.Repeat("\xff\xf1\x50\x80\x02\x1f\xfc"+strings.Repeat("\x00", 9), 2)
	for content, want := range map[string]Format{
		"fLaC\x00\x00\x00\x22": FLAC, "OggS\x00\x02": OGG, aac: AAC, "\xff\xfb\x90\x00": MP3, "": MP3,
	} {
		file := tag + content
		if got, err := inspect(strings.NewReader(file), int64(len(file)), "", DefaultLimits()); got != want || err != nil {
			t.Errorf("a tag and %q: %q, %v, want %s", content, got, err, want)
		}
	}
}

// TestDrawnFilesPass holds the header checks against files that are in order.
func TestDrawnFilesPass(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("decode/testdata/*")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".amr") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		limits := DefaultLimits()
		format, err := inspect(bytes.NewReader(data), int64(len(data)), Image, limits)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		limits.Pixels = 1000
		if err := checkHeader(bytes.NewReader(data), int64(len(data)), format, limits); err == nil {
			t.Errorf("%s passes a limit of %d pixels", name, limits.Pixels)
		}
	}
}

// FuzzInspect holds that what passes has a format, what does not a sentence, and
// that what is refused is refused under a stricter limit, too.
func FuzzInspect(f *testing.F) {
	for _, test := range bombs() {
		f.Add(test.data)
	}
	for _, seed := range []string{
		"\xff\xd8\xff\xfe\x00\x04hi\xff\xff\x01\xff\xc0\x00\x0b\x08\x00\x40\x00\x60\x01\x01\x11\x00\xff\xda",
		"GIF89a\x00\x00\x00\x00\x00\x00\x00\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00",
		"MM\x00*\x00\x00\x00\x08\x00\x02\x01\x00\x00\x03\x00\x00\x00\x01\x00\x60\x00\x00\x01\x01\x00\x03\x00\x00\x00\x01\x00\x40\x00\x00",
		"II+\x00\x08\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00",
		"\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1heic\x00\x00\x00\x0cmeta\x00\x00\x00\x00",
		"ID3\x04\x00\x10\x00\x00\x00\x00" + "ID3\x04\x00\x00\x00\x00\x00\x01_" + "fLaC\x00\x00\x00\x22",
		"ID3\x04\x00\x00\x00\x00\x20\x00" + strings.Repeat("\x00", 4096) + "\xff\xf1\x50\x80\x02\x1f\xfc",
	} {
		f.Add([]byte(seed))
	}
	for _, name := range []string{"orientation5.heic", "orientation6.avif", "lzw.tiff", "animated-lossy.webp"} {
		data, err := os.ReadFile(filepath.Join("decode", "testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		format, err := inspect(bytes.NewReader(data), int64(len(data)), "", DefaultLimits())
		if err == nil && format == "" {
			t.Fatal("neither a format nor an error")
		}
		var fault *Error
		if err != nil && (!errors.As(err, &fault) || fault.Message == "") {
			t.Fatalf("not the client's fault: %v", err)
		}
		none := DefaultLimits()
		none.Pixels = 0
		if _, strict := inspect(bytes.NewReader(data), int64(len(data)), "", none); err != nil && strict == nil {
			t.Fatalf("refused, but not with a stricter limit: %v", err)
		}
	})
}

// FuzzReply holds that what a child may send leads neither outside of the output
// nor to another request, and that its errors can be shown.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"id":"me","kind":"image","format":"PNG","width":1,"height":1,"frames":[{"width":1,"height":1}]}`), int64(4096))
	f.Add([]byte(`{"id":"me","kind":"video","frames":[{"offset":4096,"width":1280,"height":720}],"windows":[{"offset":1099511627776,"samples":64000}]}`), int64(8192))
	f.Add([]byte(`{"id":"me","kind":"audio","windows":[{"offset":-4096,"samples":64000},{"offset":9223372036854771712,"samples":64000}]}`), int64(1<<62))
	f.Add([]byte(`{"id":"me","kind":"video","frames":[{"width":1,"height":1}],"stretches":[{"offset":4096,"width":2,"height":2,"at":[0,1,2]}]}`), int64(8192))
	f.Add([]byte(`{"id":"me","kind":"video","frames":[{"width":1,"height":1}],"stretches":[{"offset":4096,"width":640,"height":640,"at":[0,-1,2]}]}`), int64(8192))
	f.Add([]byte(`{"id":"me","kind":"video","frames":[{"width":1,"height":1}],"notes":["incomplete","<b>"]}`), int64(8192))
	f.Add([]byte(`{"id":"me","code":"payload_too_large","message":"It is too long."}`), int64(0))
	f.Add([]byte(`{"id":"me","cause":"bad header","leaving":true}`), int64(0))
	f.Add([]byte(`{"id":"me","full":true}`), int64(0))
	f.Add([]byte(`{"id":"you","kind":"image"}`), int64(0))
	f.Fuzz(func(t *testing.T, message []byte, size int64) {
		reply, err := parseReply(message, "me")
		if err != nil {
			return
		}
		if reply.ID != "me" {
			t.Fatal("another request's reply passes")
		}
		err = reply.fault(MP4)
		if reply.failed() != (err != nil) {
			t.Fatalf("%+v: %v", reply, err)
		}
		if fault := (*Error)(nil); errors.As(err, &fault) && (fault.Message == "" || !printable(fault.Message)) {
			t.Fatalf("%q is not to be shown", fault.Message)
		}
		if reply.check(DecodeRequest{Format: MP4, Output: size, Limits: stretchLimits()}, size) == nil {
			reply.inside(t, size)
			for _, n := range reply.Notes {
				if n.Message() == "" {
					t.Fatalf("%q is not to be shown", n)
				}
			}
		}
	})
}

// inside fails the test if a reference leads outside of size bytes.
func (r *DecodeReply) inside(t *testing.T, size int64) {
	t.Helper()
	for _, f := range r.Frames {
		if f.Offset < 0 || f.Width < 1 || f.Height < 1 || f.Offset > size || int64(f.Width)*int64(f.Height)*3 > size-f.Offset {
			t.Fatalf("frame %+v passes with %d bytes", f, size)
		}
	}
	for _, s := range r.Stretches {
		if all := 3 * s.frameBytes(); s.Offset < 0 || s.Width < 1 || s.Height < 1 || len(s.At) != 3 || s.Offset > size || all > size-s.Offset {
			t.Fatalf("stretch %+v passes with %d bytes", s, size)
		}
	}
	for _, w := range r.Windows {
		if w.Offset < 0 || w.Samples < 1 || w.Offset > size || int64(w.Samples)*SampleBytes > size-w.Offset {
			t.Fatalf("window %+v passes with %d bytes", w, size)
		}
	}
}

// TestALongAnimationIsBelieved: of an animation more than a million pixels long, within
// the limit of all its pixels, the child's reply was taken for a lie, and two children
// killed for it.
func TestALongAnimationIsBelieved(t *testing.T) {
	t.Parallel()
	req := DecodeRequest{Format: PNG, Limits: DefaultLimits()}
	reply := DecodeReply{Kind: Image, Width: 1_500_000, Height: 40, Frames: []FrameRef{{Width: 1280, Height: 1}}}
	if err := reply.check(req, 4096); err != nil {
		t.Error(err)
	}
	reply.Width = int(req.Limits.Pixels) + 1
	if err := reply.check(req, 4096); err == nil {
		t.Error("a picture beyond the limit is believed")
	}
}

// TestAChildMayWriteAClip: the bound of a child's files was that of its output,
// so that a film of which more than that is copied out could not be decoded.
func TestAChildMayWriteAClip(t *testing.T) {
	t.Parallel()
	opts := DefaultPoolOptions()
	opts.UploadBytes = 1 << 30
	if got := opts.sandbox().FileBytes; got < 1<<30 {
		t.Fatalf("%d bytes", got)
	}
}

// TestTIFFNumbers: a width is read as libtiff reads it, of whichever type.
func TestTIFFNumbers(t *testing.T) {
	t.Parallel()
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		entry := func(kind uint16, value []byte) []byte {
			return append(append(order.AppendUint32(order.AppendUint16(order.AppendUint16(nil, 256), kind), 1), value...), make([]byte, 4-len(value))...)
		}
		file := bytes.NewReader(order.AppendUint64(make([]byte, 4), 200))
		for kind, value := range map[uint16][]byte{
			1: {200}, 3: order.AppendUint16(nil, 200), 4: order.AppendUint32(nil, 200), 16: order.AppendUint32(nil, 4),
		} {
			if got, err := tiffNumber(file, order.(binary.ByteOrder), entry(kind, value)); got != 200 || err != nil {
				t.Errorf("type %d in %v: %d, %v", kind, order, got, err)
			}
		}
		if _, err := tiffNumber(file, order.(binary.ByteOrder), entry(16, order.AppendUint32(nil, 5))); !errors.Is(err, errHeader) {
			t.Errorf("beyond the file: %v", err)
		}
	}
}
