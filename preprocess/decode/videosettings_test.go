//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// mp4Box is a box of MP4 of a kind.
func mp4Box(kind string, parts ...[]byte) []byte {
	content := slices.Concat(parts...)
	return slices.Concat(numbers(8+len(content)), []byte(kind), content)
}

// numbers are numbers of four bytes each.
func numbers(values ...int) (data []byte) {
	for _, v := range values {
		data = binary.BigEndian.AppendUint32(data, uint32(v))
	}
	return data
}

// boxContent is what the first box of a kind holds.
func boxContent(t *testing.T, file []byte, kind string) []byte {
	t.Helper()
	at := box(t, file, kind)
	return file[at : at-8+int(binary.BigEndian.Uint32(file[at-8:]))]
}

// joined are two films of MP4 without sound one after the other, each with its own settings, as joining
// them without coding anew leaves them.
func joined(t *testing.T, first, second []byte) []byte {
	t.Helper()
	var data, sizes, entries []byte
	var starts, keys, counts []int
	number := func(b []byte, i int) int { return int(binary.BigEndian.Uint32(b[4*i:])) }
	for _, film := range [][]byte{first, second} {
		starts = append(starts, 36+len(data))
		for i, stss := 0, boxContent(t, film, "stss"); i < number(stss, 1); i++ {
			keys = append(keys, number(stss, 2+i)+len(sizes)/4)
		}
		counts = append(counts, number(boxContent(t, film, "stsz"), 2))
		sizes = append(sizes, boxContent(t, film, "stsz")[12:]...)
		data = append(data, boxContent(t, film, "mdat")...)
		entries = append(entries, boxContent(t, film, "stsd")[8:]...)
	}
	return slices.Concat(mp4Box("ftyp", []byte("isom"), numbers(512), []byte("isomiso2mp41")), mp4Box("mdat", data),
		mp4Box("moov", mp4Box("mvhd", boxContent(t, first, "mvhd")), mp4Box("trak", mp4Box("tkhd", boxContent(t, first, "tkhd")),
			mp4Box("mdia", mp4Box("mdhd", boxContent(t, first, "mdhd")), mp4Box("hdlr", boxContent(t, first, "hdlr")),
				mp4Box("minf", mp4Box("vmhd", boxContent(t, first, "vmhd")), mp4Box("dinf", boxContent(t, first, "dinf")),
					mp4Box("stbl", mp4Box("stsd", numbers(0, 2), entries),
						mp4Box("stts", numbers(0, 1, len(sizes)/4, number(boxContent(t, first, "stts"), 3))),
						mp4Box("stsc", numbers(0, 2, 1, counts[0], 1, 2, counts[1], 2)),
						mp4Box("stsz", numbers(0, 0, len(sizes)/4), sizes), mp4Box("stco", numbers(0, 2, starts[0], starts[1])),
						mp4Box("stss", numbers(0, len(keys)), numbers(keys...))))))))
}

// TestSettingsChangeMidway: films that were joined without coding anew have settings of the codec for each
// part. All pictures behind the first part were garbage, decoded by the settings of that.
func TestSettingsChangeMidway(t *testing.T) {
	t.Parallel()
	film := func(source string, args ...string) string {
		path := filepath.Join(t.TempDir(), "x.mp4")
		ffmpeg(t, slices.Concat([]string{"-f", "lavfi", "-i", source, "-pix_fmt", "yuv420p", "-g", "30", "-bf", "0"}, args, []string{path})...)
		return path
	}
	const small, large = "testsrc2=s=160x120:r=25:d=5", "testsrc2=s=240x180:r=25:d=5,hue=h=90"
	h264 := []string{"-c:v", "libx264", "-preset", "ultrafast"}
	h265 := []string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=30"}
	mpeg4 := []string{"-c:v", "mpeg4", "-q:v", "3"}
	for name, parts := range map[string][2]string{
		"H.264":          {film(small, h264...), film(small+",hue=h=90", append(h264, "-profile:v", "high", "-x264-params", "cabac=1:8x8dct=1:ref=4")...)},
		"H.264, larger":  {film(small, h264...), film(large, h264...)},
		"H.265":          {film(small, h265...), film(small+",hue=h=90", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=30:ctu=16:sao=1")},
		"H.265, larger":  {film(small, h265...), film(large, h265...)},
		"MPEG-4":         {film(small, mpeg4...), film(small+",hue=h=90", append(mpeg4, "-flags", "+qpel")...)},
		"MPEG-4, larger": {film(small, mpeg4...), film(large, mpeg4...)},
	} {
		d, err := decodeBytes(t, joined(t, read(t, parts[0]), read(t, parts[1])), preprocess.MP4, preprocess.DefaultLimits())
		if err != nil || len(d.arena.Frames()) != 16 || d.Notes != nil {
			t.Errorf("%s: %d frames, notes %q, %v", name, len(d.arena.Frames()), d.Notes, err)
			continue
		}
		var raw [2][]byte
		for i, path := range parts {
			raw[i] = ffmpeg(t, "-i", path, "-pix_fmt", "rgb24", "-f", "rawvideo", "-")
		}
		for i, ref := range d.arena.Frames() {
			if off := apart(raw[i/8], d.pixels(t, i).pix); off > 2 {
				t.Errorf("%s: frame %d at %v is none of the film: %.1f off", name, i, ref.At, off)
			}
		}
	}
}

// restated is a film of H.264 in MP4 without sound whose settings are told twice, filled up to so many bytes. Picture
// number i goes by the ones or the others, as which says.
func restated(t *testing.T, film []byte, fill [2]int, which func(i int) int) []byte {
	t.Helper()
	var entries, sizes, places, chunks []byte
	for _, n := range fill {
		entry := bytes.Clone(boxContent(t, film, "stsd")[8:])
		at := bytes.Index(entry, []byte("avcC")) - 4
		length := int(binary.BigEndian.Uint32(entry[at:]))
		more := make([]byte, n-(length-8))
		copy(entry[at:], numbers(length+len(more)))
		entry = slices.Insert(entry, at+length, more...)
		copy(entry, numbers(len(entry)))
		entries = append(entries, entry...)
	}
	data := boxContent(t, film, "mdat")
	sizes = boxContent(t, film, "stsz")[12:]
	count, keys, at := len(sizes)/4, []byte(nil), 36
	for i := range count {
		places, keys = append(places, numbers(at)...), append(keys, numbers(i+1)...)
		chunks = append(chunks, numbers(i+1, 1, 1+which(i))...)
		at += int(binary.BigEndian.Uint32(sizes[4*i:]))
	}
	own := func(kind string) []byte { return mp4Box(kind, boxContent(t, film, kind)) }
	return slices.Concat(mp4Box("ftyp", []byte("isom"), numbers(512), []byte("isomiso2mp41")), mp4Box("mdat", data),
		mp4Box("moov", own("mvhd"), mp4Box("trak", own("tkhd"), mp4Box("mdia", own("mdhd"), own("hdlr"),
			mp4Box("minf", own("vmhd"), own("dinf"), mp4Box("stbl", mp4Box("stsd", numbers(0, 2), entries), own("stts"),
				mp4Box("stsc", numbers(0, count), chunks), mp4Box("stsz", numbers(0, 0, count), sizes),
				mp4Box("stco", numbers(0, count), places), mp4Box("stss", numbers(0, count), keys)))))))
}

// TestSettingsAreBounded: settings that change midway are read and written anew each time. Beyond what any film has of
// them, what follows is not judged.
func TestSettingsAreBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.mp4")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x64:r=25:d=16", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-g", "1", path)
	film := read(t, path)
	often := func(i int) int { return i % 2 }
	once := func(i int) int { return i / 200 }
	for name, tc := range map[string]struct {
		fill  [2]int
		which func(i int) int
		last  float64 // when the last picture is shown, about
	}{
		"once, as long as may be": {[2]int{100, settingsMost}, once, 15.5},
		"once, one longer":        {[2]int{100, settingsMost + 1}, once, 7.5},
		"often, short":            {[2]int{1000, 1000}, often, 15.5},
		"often, long":             {[2]int{settingsMost, settingsMost}, often, 9.9}, // 256 times
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := decodeBytes(t, restated(t, film, tc.fill, tc.which), preprocess.MP4, preprocess.DefaultLimits())
			if err != nil || len(d.arena.Frames()) != 16 {
				t.Fatalf("%d frames, %v", len(d.arena.Frames()), err)
			}
			last := d.arena.Frames()[15].At.Seconds()
			if whole := tc.last > 15; last < tc.last-0.8 || last > tc.last+0.4 || whole != (d.Notes == nil) {
				t.Errorf("the last picture is at %.2f s, want about %.1f; notes %q", last, tc.last, d.Notes)
			}
		})
	}
}

// TestSettingsOfAnotherKind: where packets are written in another way behind a join, they are not judged.
func TestSettingsOfAnotherKind(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.mp4")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=4", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-g", "10", path)
	other := read(t, path)
	other[box(t, other, "avcC")+4] &^= 2 // lengths of two bytes
	d, err := decodeBytes(t, joined(t, read(t, path), other), preprocess.MP4, preprocess.DefaultLimits())
	if err != nil || len(d.arena.Frames()) != 16 || !slices.Equal(d.Notes, []preprocess.Note{preprocess.Incomplete}) {
		t.Fatalf("%d frames, notes %q, %v", len(d.arena.Frames()), d.Notes, err)
	}
	if at := d.arena.Frames()[15].At.Seconds(); at > 4 {
		t.Errorf("a frame at %.2f s", at)
	}
}

// TestInBand: settings that were cut off or made up give what is there of them.
func TestInBand(t *testing.T) {
	t.Parallel()
	avcC := []byte{1, 77, 0, 30, 0xff, 0xe1, 0, 2, 0x67, 1, 1, 0, 1, 0x68}
	hvcC := append(make([]byte, 21), 3, 2, 0x20, 0, 1, 0, 2, 0x40, 1, 0x21, 0, 1, 0, 1, 0x42)
	hvcC[0] = 1
	for n, want := range map[int]string{5: "", 6: "", 9: "", 10: "\x00\x00\x00\x02\x67\x01", 13: "\x00\x00\x00\x02\x67\x01", 14: "\x00\x00\x00\x02\x67\x01\x00\x00\x00\x01\x68"} {
		if got, ok := inBand(avcC[:n], 4, 4, h264Sets); !ok || string(got) != want {
			t.Errorf("%d bytes of H.264: %q", n, got)
		}
	}
	for n, want := range map[int]string{22: "", 23: "", 27: "", 30: "\x00\x02\x40\x01", len(hvcC): "\x00\x02\x40\x01\x00\x01\x42"} {
		if got, ok := inBand(hvcC[:n], 2, 2, h265Sets); !ok || string(got) != want {
			t.Errorf("%d bytes of H.265: %q", n, got)
		}
	}
	if _, ok := inBand(avcC, 2, 4, h264Sets); ok {
		t.Error("another length")
	}
	if _, ok := inBand(slices.Concat(avcC[:6], []byte{1, 0}, bytes.Repeat([]byte{0x67}, 256)), 1, 1, h264Sets); ok {
		t.Error("too long for its length")
	}
	if got, ok := inBand([]byte{0, 0, 1, 0x67}, 0, 0, h264Sets); !ok || string(got) != "\x00\x00\x01\x67" {
		t.Errorf("units: %q", got)
	}
}
