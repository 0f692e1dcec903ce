//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"deepfaked/internal/sandbox"
	"deepfaked/preprocess"
	"deepfaked/preprocess/internal/heif"
)

// item is a picture of a HEIF file.
type item struct {
	kind       string
	coded      []byte
	properties []byte // counted from 1
	hidden     bool
}

// inBox is a box of that body; full boxes begin with a version and flags.
func inBox(kind string, body ...[]byte) []byte {
	whole := slices.Concat(body...)
	return slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(8+len(whole))), []byte(kind), whole)
}

// heifFile is a file of items, counted from 1, the first of which is the main picture.
func heifFile(brands string, items []item, properties [][]byte, references ...[]byte) []byte {
	version := make([]byte, 4)
	n := []byte{0, byte(len(items))}
	var entries, links, coded []byte
	for i, it := range items {
		hidden := byte(0)
		if it.hidden {
			hidden = 1
		}
		entries = append(entries, inBox("infe", []byte{2, 0, 0, hidden, 0, byte(i + 1), 0, 0}, []byte(it.kind), []byte{0})...)
		links = slices.Concat(links, []byte{0, byte(i + 1), byte(len(it.properties))}, it.properties)
		coded = append(coded, it.coded...)
	}
	build := func(at int) []byte {
		places := slices.Concat(version, []byte{0x44, 0}, n)
		for i, it := range items {
			places = append(places, 0, byte(i+1), 0, 0, 0, 1)
			places = binary.BigEndian.AppendUint32(places, uint32(at))
			places = binary.BigEndian.AppendUint32(places, uint32(len(it.coded)))
			at += len(it.coded)
		}
		return slices.Concat(
			inBox("ftyp", []byte(brands[:4]), version, []byte(brands[4:])),
			inBox("meta", version,
				inBox("hdlr", version, version, []byte("pict"), make([]byte, 13)), inBox("pitm", version, []byte{0, 1}),
				inBox("iloc", places), inBox("iinf", version, n, entries), inBox("iref", version, slices.Concat(references...)),
				inBox("iprp", inBox("ipco", properties...), inBox("ipma", version, []byte{0, 0}, n, links))))
	}
	return slices.Concat(build(len(build(0))+8), inBox("mdat", coded))
}

// refers is a reference of the first item, or to it.
func refers(kind string, from byte, to ...byte) []byte {
	body := []byte{0, from, 0, byte(len(to))}
	for _, item := range to {
		body = append(body, 0, item)
	}
	return inBox(kind, body)
}

// coding is a way to code colours.
type coding struct {
	matrix string // of FFmpeg
	full   bool
}

// nclx is the property that declares it.
func (c coding) nclx() []byte {
	declared := []byte{0, 1, 0, 13, 0, 1, 0}
	if c.matrix != "bt709" {
		declared[5] = 6
	}
	if c.full {
		declared[6] = 0x80
	}
	return inBox("colr", []byte("nclx"), declared)
}

// byX265 codes 128 rows of pixels of RGB, or of grey, and returns the hvcC box and the picture.
func byX265(t testing.TB, width int, pixels []byte, c coding) (hvcC, coded []byte) {
	t.Helper()
	return codedBy(t, width, pixels, c, "hvcC", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:qp=8:info=0")
}

// codedBy has FFmpeg code them, and returns the box that says how and the picture.
func codedBy(t testing.TB, width int, pixels []byte, c coding, how string, encoder ...string) (box, coded []byte) {
	t.Helper()
	format, kept := "rgb24", "yuv420p"
	if len(pixels) == 128*width {
		format, kept = "gray", "gray"
	}
	levels := map[bool]string{true: "pc", false: "tv"}[c.full]
	raw, path := filepath.Join(t.TempDir(), "x.raw"), filepath.Join(t.TempDir(), "x.mp4")
	if err := os.WriteFile(raw, pixels, 0o600); err != nil {
		t.Fatal(err)
	}
	ffmpeg(t, slices.Concat([]string{
		"-f", "rawvideo", "-pix_fmt", format, "-s", fmt.Sprintf("%dx128", width), "-i", raw,
		"-vf", "scale=out_color_matrix=" + c.matrix + ":out_range=" + levels + ",format=" + kept, "-frames:v", "1",
		"-color_range", levels, "-colorspace", c.matrix,
	}, encoder, []string{path})...)
	file := read(t, path)
	find := func(kind string) []byte {
		at := bytes.Index(file, []byte(kind)) - 4
		return file[at:][:binary.BigEndian.Uint32(file[at:])]
	}
	return find(how), find("mdat")[8:]
}

// twice are some columns of the drawn picture twice as large, as pixels of RGB, its colours
// multiplied by alpha.
func twice(from, to, alpha int) []byte {
	var pixels []byte
	for y := range 128 {
		for x := from; x < to; x++ {
			c := drawnColors()[x/96+y/64*2]
			for _, v := range []byte{c.R, c.G, c.B} {
				pixels = append(pixels, byte(int(v)*alpha/255))
			}
		}
	}
	return pixels
}

// size is the ispe property of 128 rows.
func size(width uint32) []byte {
	return inBox("ispe", make([]byte, 4), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), 128))
}

// wantHEIC wants a file to show these colours.
func wantHEIC(t *testing.T, name string, file []byte, want quadrants) {
	t.Helper()
	_, frames, err := decodeTest(t, file, preprocess.HEIC, preprocess.DefaultLimits())
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	t.Run(name, func(t *testing.T) { frames[0].expect(t, want, 8) })
}

// TestHEICBrands: files whose major brand says only that they are pictures, as some phones and
// libraries write it, or what the library does not know, were refused as damaged.
func TestHEICBrands(t *testing.T) {
	t.Parallel()
	file := testdata(t, "orientation1.heic")
	for _, brand := range []string{"heic", "heix", "mif1", "msf1", "miaf", "heim", "heis"} {
		wantHEIC(t, brand, slices.Concat(file[:8], []byte(brand), file[12:]), drawnColors())
	}
}

// TestHEICColours: of pictures in tiles, as phones take them, that are declared to be coded in
// another way than JPEG files are, colours were converted twice, and of files that leave it to
// the coded picture to declare that, not at all.
func TestHEICColours(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]coding{
		"BT.601": {"smpte170m", true}, "BT.601 limited": {"smpte170m", false},
		"BT.709": {"bt709", true}, "BT.709 limited": {"bt709", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hvcC, whole := byX265(t, 192, twice(0, 192, 255), c)
			hvcC96, left := byX265(t, 96, twice(0, 96, 255), c)
			_, right := byX265(t, 96, twice(96, 192, 255), c)
			properties := [][]byte{c.nclx(), size(192), hvcC, size(96), hvcC96}
			for who, declare := range map[string][2][]byte{"both declare": {{1}, {1}}, "whole declares": {{1}, nil}, "part declares": {nil, {1}}, "none declares": {}} {
				main, part := append([]byte{2}, declare[0]...), declare[1]
				again := item{"hvc1", whole, append([]byte{2, 3}, part...), true}
				tile := item{"hvc1", left, append([]byte{4, 5}, part...), true}
				other := tile
				other.coded = right
				for way, file := range map[string][]byte{
					"alone": heifFile("heicmif1", []item{{"hvc1", whole, append([]byte{3}, main...), false}}, properties),
					"again": heifFile("heicmif1", []item{{"iden", nil, main, false}, again}, properties, refers("dimg", 1, 2)),
					"tiles": heifFile("heicmif1", []item{{"grid", []byte{0, 0, 0, 1, 0, 192, 0, 128}, main, false}, tile, other}, properties, refers("dimg", 1, 2, 3)),
				} {
					wantHEIC(t, who+", "+way, file, drawnColors())
				}
			}
		})
	}
}

// TestHEICColoursOfTheWhole: where neither the tiles of a picture nor what is coded in them declare their
// colours, what is declared of the whole counts, and not what stands for nothing.
func TestHEICColoursOfTheWhole(t *testing.T) {
	t.Parallel()
	c := coding{"bt709", false}
	tile := item{"hvc1", []byte{0}, []byte{4, 3}, true}
	file := heifFile("heicmif1", []item{{"grid", []byte{0, 0, 0, 1, 0, 192, 0, 128}, []byte{2, 1}, false}, tile, tile},
		[][]byte{c.nclx(), size(192), inBox("hvcC", make([]byte, 23)), size(96)}, refers("dimg", 1, 2, 3))
	want := heif.Color{Declared: true, Matrix: 1, FullRange: true} // the library has converted the range
	if got := heicColor(file, heif.Color{Declared: true, Matrix: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestHEICAlpha: files whose transparency is a hidden item, as the standard wants it, were
// refused, and colours that the encoder had multiplied by it were multiplied again.
func TestHEICAlpha(t *testing.T) {
	t.Parallel()
	c := coding{"smpte170m", true}
	grey, alpha := byX265(t, 192, bytes.Repeat([]byte{128}, 192*128), c)
	auxiliary := inBox("auxC", make([]byte, 4), []byte("urn:mpeg:hevc:2015:auxid:1\x00"))
	for name, multiplied := range map[string]bool{"straight": false, "multiplied": true} {
		level, references := 255, [][]byte{refers("auxl", 2, 1)}
		if multiplied {
			level, references = 128, append(references, refers("prem", 1, 2))
		}
		hvcC, coded := byX265(t, 192, twice(0, 192, level), c)
		properties := [][]byte{hvcC, size(192), c.nclx(), grey, auxiliary, inBox("pixi", []byte{0, 0, 0, 0, 1, 8})}
		for shown, hidden := range map[string]bool{"": false, ", hidden": true} {
			file := heifFile("heicmif1", []item{{"hvc1", coded, []byte{1, 2, 3}, false}, {"hvc1", alpha, []byte{4, 2, 5, 6}, hidden}}, properties, references...)
			wantHEIC(t, name+shown, file, onWhiteAt(128))
		}
	}
}

// TestAVIFPremultiplied: files whose colours the encoder had multiplied by their transparency were
// refused as damaged where loss had made a colour more than that.
func TestAVIFPremultiplied(t *testing.T) {
	t.Parallel()
	byAOM := func(pixels []byte) (av1C, coded []byte) {
		return codedBy(t, 192, pixels, coding{"smpte170m", true}, "av1C", "-c:v", "libaom-av1", "-cpu-used", "8", "-crf", "5", "-still-picture", "1")
	}
	auxiliary := inBox("auxC", make([]byte, 4), []byte("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\x00"))
	for name, tc := range map[string]struct {
		pixels []byte
		alpha  byte
		want   quadrants
	}{
		"colours":     {twice(0, 192, 100), 100, onWhiteAt(100)},
		"white, loss": {bytes.Repeat([]byte{128}, 192*128*3), 126, all(255, 255, 255)},
	} {
		av1C, coded := byAOM(tc.pixels)
		grey, alpha := byAOM(bytes.Repeat([]byte{tc.alpha}, 192*128))
		file := heifFile("avifmif1", []item{{"av01", coded, []byte{1, 2, 3}, false}, {"av01", alpha, []byte{4, 2, 5, 6}, true}},
			[][]byte{av1C, size(192), coding{"smpte170m", true}.nclx(), grey, auxiliary, inBox("pixi", []byte{0, 0, 0, 0, 1, 8})},
			refers("auxl", 2, 1), refers("prem", 1, 2))
		_, frames, err := decodeTest(t, file, preprocess.AVIF, preprocess.DefaultLimits())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		frames[0].expect(t, tc.want, 8)
	}
}

// TestHEICColoursInSilence: what the decoder has to say of parameter sets without sense stays out of the log. A process of
// its own looks at them, so that no film has had it quiet before.
func TestHEICColoursInSilence(t *testing.T) {
	t.Parallel()
	const asked = "DEEPFAKED_TEST_COLOURS"
	if os.Getenv(asked) != "" {
		hvcC := slices.Concat([]byte{1}, make([]byte, 21), []byte{1, 33, 0, 1, 0, 8, 0x42, 1}, bytes.Repeat([]byte{0xff}, 6))
		if color := streamColor(hvcC); color.Declared {
			t.Errorf("got %+v", color)
		}
		return
	}
	child := exec.CommandContext(t.Context(), sandbox.Self, "-test.run=^TestHEICColoursInSilence$")
	child.Env = append(os.Environ(), asked+"=1")
	var said bytes.Buffer
	child.Stderr = &said
	if err := child.Run(); err != nil || said.Len() > 0 {
		t.Errorf("%v, and it said %q", err, said.String())
	}
}
