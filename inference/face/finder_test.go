package face

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"image"
	"image/jpeg"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// newTestFinder uses the built-in cascade.
func newTestFinder(tb testing.TB) *Finder {
	tb.Helper()
	cascade, err := models.FaceCascade()
	if err != nil {
		tb.Fatal(err)
	}
	f, err := NewFinder(cascade, DefaultOptions())
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// TestFindMostFaces counts on photographs of one face each, many of which fill
// the picture: 60 of these 100 are found, and 43 where the edges are not continued.
func TestFindMostFaces(t *testing.T) {
	t.Parallel()
	finder, photographs := newTestFinder(t), photographs(t, 100)
	found := 0
	for _, p := range photographs {
		if len(finder.Find(p)) > 0 {
			found++
		}
	}
	if found*100 < 55*len(photographs) {
		t.Errorf("%d faces found in %d photographs", found, len(photographs))
	}
}

func TestFindNothing(t *testing.T) {
	t.Parallel()
	finder := newTestFinder(t)
	for name, frame := range map[string]preprocess.Frame{
		"one pixel":  pattern(1, 1),
		"one row":    pattern(500, 1),
		"a pattern":  pattern(200, 150),
		"one colour": {Pix: make([]byte, 300*200*3), Width: 300, Height: 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if faces := finder.Find(frame); len(faces) != 0 {
				t.Errorf("found %v", faces)
			}
		})
	}
}

func TestContinued(t *testing.T) {
	t.Parallel()
	grey := image.NewGray(image.Rect(0, 0, 3, 2))
	copy(grey.Pix, []byte{1, 2, 3, 4, 5, 6})
	got := continued(grey, 2)
	want := []byte{
		1, 1, 1, 2, 3, 3, 3,
		1, 1, 1, 2, 3, 3, 3,
		1, 1, 1, 2, 3, 3, 3,
		4, 4, 4, 5, 6, 6, 6,
		4, 4, 4, 5, 6, 6, 6,
		4, 4, 4, 5, 6, 6, 6,
	}
	if got.Rect != image.Rect(0, 0, 7, 6) || !bytes.Equal(got.Pix, want) {
		t.Errorf("got %v of %v", got.Pix, got.Rect)
	}
}

func BenchmarkFind(b *testing.B) {
	finder, frame := newTestFinder(b), pattern(1280, 960)
	for b.Loop() {
		finder.Find(frame)
	}
}

// shared holds media that are not part of the project.
const shared = "../../../shared/data"

// photographs decodes the first n of the face photographs that may be looked at.
func photographs(t *testing.T, n int) []preprocess.Frame {
	t.Helper()
	file, err := os.Open(filepath.Join(shared, "faces.tar"))
	if err != nil {
		t.Skipf("the photographs are not here: %v", err)
	}
	defer func() { _ = file.Close() }()
	forbidden, archive := heldOut(t), tar.NewReader(file)
	var frames []preprocess.Frame
	for len(frames) < n {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(data); strings.HasSuffix(head.Name, ".jpg") && !forbidden[hex.EncodeToString(sum[:])] {
			frames = append(frames, decoded(t, data))
		}
	}
	return frames
}

// heldOut lists the sums of files that nothing may be tuned on.
func heldOut(t *testing.T) map[string]bool {
	t.Helper()
	file, err := os.Open(filepath.Join(shared, "held-out.sha256"))
	if err != nil {
		t.Skipf("the list of held-out files is not here: %v", err)
	}
	defer func() { _ = file.Close() }()
	sums := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		sum, _, _ := strings.Cut(lines.Text(), " ")
		sums[sum] = true
	}
	return sums
}

// decoded is a JPEG picture as a frame.
func decoded(t *testing.T, data []byte) preprocess.Frame {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	size := img.Bounds().Size()
	f := preprocess.Frame{Width: size.X, Height: size.Y}
	for y := range size.Y {
		for x := range size.X {
			r, g, b, _ := img.At(x, y).RGBA()
			f.Pix = append(f.Pix, byte(r>>8), byte(g>>8), byte(b>>8))
		}
	}
	return f
}
