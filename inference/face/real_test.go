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

	pigo "github.com/esimov/pigo/core"

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

// Nearly all faces that are small in their picture are found in two steps where
// a search of every window finds them, and the other way round.
func TestSiftingLosesFewFaces(t *testing.T) {
	t.Parallel()
	finder := newFinder(t)
	lost, whole := 0, 0
	ground := painted(1280, 720)
	for _, photograph := range photographs(t) {
		if max(photograph.Width, photograph.Height) > 720 {
			continue
		}
		var b buffer
		b.looked = map[window]bool{}
		b.reduce(pasted(ground, photograph), 2)
		sure := func(found []pigo.Detection, quality float32) []pigo.Detection {
			return slices.DeleteFunc(finder.cascade.ClusterDetections(found, 0.2), func(d pigo.Detection) bool { return d.Q < quality })
		}
		sifted := sure(finder.sift(b.picture, b.looked, sides(37, 192), 2), finder.opts.Quality)
		for _, d := range sure(finder.everywhere(b.picture, 37, 192), 8) {
			whole++
			if !slices.ContainsFunc(sifted, func(s pigo.Detection) bool {
				return max(s.Row-d.Row, d.Row-s.Row, s.Col-d.Col, d.Col-s.Col) < d.Scale/5 && 4*s.Scale > 3*d.Scale && 3*s.Scale < 4*d.Scale
			}) {
				lost++
			}
		}
	}
	t.Logf("%d of %d lost", lost, whole)
	if whole < 30 || 10*lost > whole {
		t.Error("too many")
	}
}

// everywhere is sift without a sieve.
func (f *Finder) everywhere(p picture, smallest, largest int) (found []pigo.Detection) {
	for _, side := range sides(smallest, largest) {
		found = append(found, run(f.cascade, p.pix, p.height, p.width, p.width, side, step(side))...)
	}
	return found
}

// pasted is a copy of a picture with another in its middle.
func pasted(out, in preprocess.Frame) preprocess.Frame {
	out.Pix = slices.Clone(out.Pix)
	left, top := (out.Width-in.Width)/2, (out.Height-in.Height)/2
	for y := range in.Height {
		copy(out.Pix[((top+y)*out.Width+left)*3:], in.Pix[y*in.Width*3:(y+1)*in.Width*3])
	}
	return out
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
