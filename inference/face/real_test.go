package face

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // the formats of the photographs
	_ "image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"deepfaked/preprocess"
)

// shared holds real media, which are not committed.
const shared = "../../../shared/data"

// photographs are every tenth of the genuine faces, but for those held out.
func photographs(t testing.TB) []preprocess.Frame {
	t.Helper()
	archive, err := os.Open(filepath.Join(shared, "faces.tar"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the photographs of faces are not here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	heldOut, err := os.ReadFile(filepath.Join(shared, "held-out.sha256"))
	if err != nil {
		t.Fatal(err)
	}
	var frames []preprocess.Frame
	files := tar.NewReader(archive)
	for n := 0; ; n++ {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		if n%10 != 0 || header.Typeflag != tar.TypeReg || !strings.Contains(header.Name, "real/") {
			continue
		}
		data, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(heldOut, fmt.Appendf(nil, "%x", sha256.Sum256(data))) {
			frames = append(frames, decoded(t, data))
		}
	}
}

func decoded(t testing.TB, data []byte) preprocess.Frame {
	t.Helper()
	im, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	size := im.Bounds().Size()
	f := preprocess.Frame{Width: size.X, Height: size.Y, Pix: make([]byte, 0, size.X*size.Y*3)}
	for i := range size.X * size.Y {
		r, g, b, _ := im.At(im.Bounds().Min.X+i%size.X, im.Bounds().Min.Y+i/size.X).RGBA()
		f.Pix = append(f.Pix, byte(r>>8), byte(g>>8), byte(b>>8))
	}
	return f
}

// In most photographs a face is found, and where it is: these are portraits. Of
// those smaller than 200 pixels, where the face often reaches over the edge, a
// third were found when the search ended at the edge.
func TestFacesAreFound(t *testing.T) {
	t.Parallel()
	finder := newFinder(t)
	var small, large, foundSmall, foundLarge, central int
	for _, f := range photographs(t) {
		faces := finder.Find(f)
		if !slices.IsSortedFunc(faces, func(a, b image.Rectangle) int { return b.Dx() - a.Dx() }) {
			t.Errorf("not the largest first: %v", faces)
		}
		total, found := &small, &foundSmall
		if min(f.Width, f.Height) >= 200 {
			total, found = &large, &foundLarge
		}
		*total++
		if len(faces) == 0 {
			continue
		}
		*found++
		if image.Pt(f.Width/2, f.Height/2).In(faces[0]) {
			central++
		}
	}
	t.Logf("found in %d of %d small and %d of %d large photographs, %d at the centre", foundSmall, small, foundLarge, large, central)
	if large < 30 || 10*foundLarge < 9*large || 2*foundSmall < small || 10*central < 9*(foundSmall+foundLarge) {
		t.Error("too few")
	}
}

// One finder serves all requests.
func TestSearchingAtTheSameTime(t *testing.T) {
	t.Parallel()
	finder := newFinder(t)
	frames := photographs(t)[:20]
	alone := make([]string, len(frames))
	for i, f := range frames {
		alone[i] = fmt.Sprint(finder.Find(f))
	}
	var wg sync.WaitGroup
	for i, f := range slices.Concat(frames, frames) {
		wg.Go(func() {
			if got := fmt.Sprint(finder.Find(f)); got != alone[i%len(frames)] {
				t.Errorf("frame %d: got %s, alone %s", i, got, alone[i%len(frames)])
			}
		})
	}
	wg.Wait()
}
