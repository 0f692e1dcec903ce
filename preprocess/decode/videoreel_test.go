//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
)

// numbered is a film of 25 pictures a second that each show their number, in bits: the
// upper half has eight columns that are black or white, and the rest is grey. It
// returns the path of a lossless copy.
func numbered(t testing.TB, pictures int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "numbered.mkv")
	graph := fmt.Sprintf("color=s=160x128:r=25:d=%g,format=yuv420p,"+
		"geq=lum='if(lt(Y,H/2),255*mod(floor(N/pow(2,floor(8*X/W))),2),128)':cb=128:cr=128", float64(pictures)/25)
	ffmpeg(t, "-f", "lavfi", "-i", graph, "-c:v", "ffv1", path)
	return path
}

// number reads what a picture shows, which column i has at a place.
func number(p rgbPicture, place func(i float64) (x, y float64)) (n int) {
	for i := range 8 {
		if p.at(place((float64(i) + .5) / 8))[1] > 128 {
			n |= 1 << i
		}
	}
	return n
}

// above is where columns are in a picture that is not turned.
func above(i float64) (x, y float64) { return i, .25 }

// inMotion are limits with four stretches of thirty pictures.
func inMotion() preprocess.Limits {
	l := preprocess.DefaultLimits()
	l.Stretches, l.StretchFrames, l.StretchSide = 4, 30, 640
	return l
}

// picture is number i of a stretch.
func (d decoded) picture(t testing.TB, ref preprocess.StretchRef, i int) rgbPicture {
	t.Helper()
	pix := make([]byte, ref.Width*ref.Height*3)
	if _, err := d.arena.file.ReadAt(pix, ref.Offset+int64(i*len(pix))); err != nil {
		t.Fatal(err)
	}
	return rgbPicture{pix, ref.Width, ref.Height}
}

// firsts checks that the pictures of each stretch are consecutive and at the times they
// claim, and returns the number of each first one.
func firsts(t testing.TB, d decoded, place func(float64) (float64, float64)) (list []int) {
	t.Helper()
	for s, ref := range d.arena.Stretches() {
		first := number(d.picture(t, ref, 0), place)
		for i, at := range ref.At {
			shown := number(d.picture(t, ref, i), place)
			if shown != first+i || (at-time.Duration(shown)*40*time.Millisecond).Abs() > 2*time.Millisecond {
				t.Errorf("stretch %d: picture %d, at %v, is number %d, and the first is %d", s, i, at, shown, first)
			}
		}
		list = append(list, first)
	}
	return list
}

// inFour checks that there is a stretch in each quarter of a film.
func inFour(t *testing.T, starts []int, pictures int) {
	t.Helper()
	if len(starts) != 4 {
		t.Fatalf("stretches begin at %v", starts)
	}
	for i, n := range starts {
		if n < i*pictures/4 || n+30 > (i+1)*pictures/4 {
			t.Errorf("stretch %d begins at %d of %d", i, n, pictures)
		}
	}
}

// TestStretchesAreConsecutive: whatever the order of the packets in the file is.
func TestStretchesAreConsecutive(t *testing.T) {
	t.Parallel()
	const pictures = 160
	master := numbered(t, pictures)
	codecs := videoCodecsTested()
	for _, tc := range []struct {
		format preprocess.Format
		ext    string
		codecs []string
	}{
		{preprocess.MP4, "mp4", []string{"H.264", "H.264 open GOP", "H.264 short GOP", "H.265", "H.265 open GOP", "H.265 10-bit", "VP9", "AV1", "MPEG-4"}},
		{preprocess.Matroska, "mkv", []string{"H.264", "H.264 open GOP", "VP8", "MJPEG"}},
		{preprocess.OGG, "ogv", []string{"Theora"}},
		{preprocess.AVI, "avi", []string{"MJPEG"}},
	} {
		for _, codec := range tc.codecs {
			t.Run(string(tc.format)+" "+codec, func(t *testing.T) {
				t.Parallel()
				path := encode(t, master, "x."+tc.ext, append([]string{"-an"}, codecs[codec]...)...)
				d, err := decodePath(t, path, tc.format, inMotion())
				if err != nil {
					t.Fatal(err)
				}
				starts := firsts(t, d, above)
				if codec == "H.264 open GOP" && len(starts) >= 2 {
					return // the decoder mixes pictures up where packets are left out before an open group
				}
				inFour(t, starts, pictures)
			})
		}
	}
}

// TestStretchesWithPicturesThatAreNotShown: every tenth packet of a film that VP8 had
// two passes for is one that others rest on and nobody sees.
func TestStretchesWithPicturesThatAreNotShown(t *testing.T) {
	t.Parallel()
	master, log := numbered(t, 160), filepath.Join(t.TempDir(), "log")
	var path string
	for _, pass := range []string{"1", "2"} {
		path = encode(t, master, "x.webm", "-c:v", "libvpx", "-cpu-used", "2", "-auto-alt-ref", "1", "-lag-in-frames", "16",
			"-arnr-maxframes", "7", "-b:v", "300k", "-pass", pass, "-passlogfile", log)
	}
	d, err := decodePath(t, path, preprocess.WebM, inMotion())
	if err != nil {
		t.Fatal(err)
	}
	inFour(t, firsts(t, d, above), 160)
}

// TestStretchesStandUpright: as a phone films that is held upright.
func TestStretchesStandUpright(t *testing.T) {
	t.Parallel()
	path := encode(t, numbered(t, 40), "x.mp4", "-c:v", "libx264", "-an")
	d, err := decodeBytes(t, turned(t, path, [4]int32{0, 1, -1, 0}), preprocess.MP4, inMotion())
	if err != nil {
		t.Fatal(err)
	}
	starts := firsts(t, d, func(i float64) (x, y float64) { return .75, i })
	if len(starts) != 1 {
		t.Fatalf("stretches begin at %v", starts)
	}
	if ref := d.arena.Stretches()[0]; ref.Width != 128 || ref.Height != 160 {
		t.Errorf("its pictures have %d by %d pixels", ref.Width, ref.Height)
	}
}

// TestStretchesAreReduced: to their own side, and frames to theirs.
func TestStretchesAreReduced(t *testing.T) {
	t.Parallel()
	path := encode(t, numbered(t, 40), "x.mp4", "-vf", "scale=1600:1280:flags=neighbor", "-c:v", "libx264", "-preset", "ultrafast", "-an")
	d, err := decodePath(t, path, preprocess.MP4, inMotion())
	if err != nil {
		t.Fatal(err)
	}
	if starts := firsts(t, d, above); len(starts) != 1 {
		t.Fatalf("stretches begin at %v", starts)
	}
	frame, ref := d.arena.Frames()[0], d.arena.Stretches()[0]
	if ref.Width != 640 || ref.Height != 512 || frame.Width != 1280 {
		t.Errorf("frame %+v, stretch of %d by %d pixels", frame, ref.Width, ref.Height)
	}
}

// TestFramesStayAsTheyAre: the other tasks are shown the same with stretches as without.
func TestFramesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"many groups": {"-g", "12"}, "one group": {"-g", "1000"}} {
		path := encode(t, numbered(t, 160), "x.mp4", append([]string{"-c:v", "libx264", "-an", "-sc_threshold", "0"}, args...)...)
		without := mustDecode(t, path, preprocess.MP4)
		with, err := decodePath(t, path, preprocess.MP4, inMotion())
		if err != nil {
			t.Fatal(err)
		}
		if len(without.arena.Stretches()) > 0 || len(with.arena.Stretches()) != 4 || !reflect.DeepEqual(with.Found, without.Found) {
			t.Errorf("%s: found %+v and %+v, with %d stretches", name, without.Found, with.Found, len(with.arena.Stretches()))
		}
		a, b := without.arena.Frames(), with.arena.Frames()
		if len(a) != len(b) {
			t.Fatalf("%s: %d and %d frames", name, len(a), len(b))
		}
		for i := range a {
			if a[i].At != b[i].At || !bytes.Equal(without.pixels(t, i).pix, with.pixels(t, i).pix) {
				t.Errorf("%s: frame %d is %+v and %+v", name, i, a[i], b[i])
			}
		}
	}
}

// TestShortFilmsHaveFewerStretches, and none where a picture is missing to one. What is
// no film has none either.
func TestShortFilmsHaveFewerStretches(t *testing.T) {
	t.Parallel()
	for pictures, want := range map[int]int{29: 0, 30: 1, 59: 1, 60: 2, 100: 3} {
		path := encode(t, numbered(t, pictures), "x.mp4", "-c:v", "libx264", "-an")
		d, err := decodePath(t, path, preprocess.MP4, inMotion())
		if err != nil {
			t.Fatal(err)
		}
		if got := firsts(t, d, above); len(got) != want {
			t.Errorf("of %d pictures stretches begin at %v", pictures, got)
		}
	}
	animated := encode(t, numbered(t, 100), "x.gif", "-pix_fmt", "pal8")
	d, err := decodePath(t, animated, preprocess.GIF, inMotion())
	if err != nil || len(d.arena.Stretches()) > 0 || len(d.arena.Frames()) == 0 {
		t.Errorf("%d stretches of an animation, %v", len(d.arena.Stretches()), err)
	}
}

// TestDamageDropsItsStretch: a stretch without one of its pictures would jump, as a
// fake does; the others stay.
func TestDamageDropsItsStretch(t *testing.T) {
	t.Parallel()
	file := read(t, encode(t, numbered(t, 160), "x.avi", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-an"))
	whole, err := decodeBytes(t, file, preprocess.AVI, inMotion())
	if err != nil {
		t.Fatal(err)
	}
	starts := firsts(t, whole, above)
	if len(starts) != 4 {
		t.Fatalf("stretches begin at %v", starts)
	}
	for name, at := range map[string]int{"the first": starts[1], "one": starts[1] + 7, "the last": starts[1] + 29} {
		d, err := decodeBytes(t, spoiled(file, at, at), preprocess.AVI, inMotion())
		if err != nil {
			t.Fatal(err)
		}
		if got := firsts(t, d, above); !slices.Equal(got, []int{starts[0], starts[2], starts[3]}) {
			t.Errorf("%s is missing of %v: stretches begin at %v", name, starts, got)
		}
	}
}

// TestStretchesHaveABudget of their own: where none is affordable, frames are as ever.
func TestStretchesHaveABudget(t *testing.T) {
	t.Parallel()
	path := encode(t, numbered(t, 160), "x.mp4", "-c:v", "libx264", "-g", "1000", "-sc_threshold", "0", "-an")
	for budget, want := range map[int]int{stretchPixels: 4, 20 * 160 * 128: 0} {
		src, in := openTest(t, path)
		src.Limits = inMotion()
		c := container{sound: sound{limit: src.Limits.Duration}}
		if err := c.scan(in, src); err != nil {
			t.Fatal(err)
		}
		c.video.pixels, c.video.stretchPixels = 16*160*128, budget
		out := testArena(t)
		if _, err := c.write(src, out); err != nil {
			t.Fatal(err)
		}
		if len(out.Stretches()) != want || len(out.Frames()) != 16 {
			t.Errorf("for %d pixels: %d stretches and %d frames", budget, len(out.Stretches()), len(out.Frames()))
		}
	}
}

// TestStretchesOfASizeThatChanges: one in which the size changes is left out, as boxes
// of its faces would mean nothing.
func TestStretchesOfASizeThatChanges(t *testing.T) {
	t.Parallel()
	r := &reel{stretch: stretch{packets: []int{0, 1, 2}}, at: make([]time.Duration, 3)}
	out := testArena(t)
	for i, side := range []int{8, 8, 16} {
		mat := gocv.NewMatWithSize(side, side, gocv.MatTypeCV8UC3)
		if err := r.take(mat, asStored, 640, out); err != nil {
			t.Fatal(err)
		}
		closeMat(&mat)
		if r.over() != (i == 2) || r.full() {
			t.Errorf("after picture %d: over %v, full %v", i, r.over(), r.full())
		}
	}
}

// TestReelsTakeNoOther: a reel takes its pictures in their order, and none after one
// that comes in between, whether from its own packets or not.
func TestReelsTakeNoOther(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ordinals []int
		full     bool
	}{
		"in order":              {[]int{4, 5, 7, 6, 8}, true},
		"after others":          {[]int{4, 8, 5, 7, 6}, true},
		"and what comes before": {[]int{3, 5, 7, 6}, true},
		"and another piece's":   {[]int{5, 20, 7, 3, 6}, true},
		"one is missing":        {[]int{4, 5, 6, 8}, false},
		"the first is missing":  {[]int{4, 7, 6, 8}, false},
		"another in between":    {[]int{5, 7, 8, 6}, false},
		"in another order":      {[]int{5, 6, 7, 6}, false},
		"one twice":             {[]int{5, 5, 7, 6}, false},
	} {
		r := &reel{stretch: stretch{packets: []int{5, 7, 6}, piece: piece{4, 9}}}
		for _, o := range tc.ordinals {
			if due([]*reel{{}, r}, o) == r {
				r.next++ // as take does
			}
		}
		if r.full() != tc.full {
			t.Errorf("%s: full is %v", name, r.full())
		}
	}
}
