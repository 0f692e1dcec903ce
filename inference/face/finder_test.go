package face

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// newFinder has the options of the service.
func newFinder(t testing.TB) *Finder {
	t.Helper()
	cascade, err := models.FaceCascade()
	if err != nil {
		t.Skip("no cascade to search with: ", err)
	}
	f, err := NewFinder(cascade, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// painted is a picture of soft shapes with grain, as busy as a photograph, and
// without a face. It is the same each time.
func painted(width, height int) preprocess.Frame {
	random := rand.New(rand.NewPCG(1, 2))
	f := preprocess.Frame{Width: width, Height: height, Pix: make([]byte, 0, width*height*3)}
	for i := range width * height {
		x, y := float64(i%width), float64(i/width)
		for _, c := range [3]float64{0, 1, 2} {
			v := 128 + 50*math.Sin(x/(31+7*c))*math.Cos(y/23) + 40*math.Sin((x+y*(1+c))/57) + 12*random.NormFloat64()
			f.Pix = append(f.Pix, byte(min(max(v, 0), 255)))
		}
	}
	return f
}

// A picture without a face has none, and looking again, from many goroutines,
// changes nothing.
func TestNoFaceIsInvented(t *testing.T) {
	t.Parallel()
	finder := newFinder(t)
	for name, frame := range map[string]preprocess.Frame{
		"painted":  painted(640, 480),
		"large":    painted(1280, 720),
		"grey":     {Pix: make([]byte, 300*200*3), Width: 300, Height: 200},
		"narrow":   painted(700, 5),
		"one dot":  painted(1, 1),
		"one line": painted(1, 1280),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if faces := finder.Find(frame); len(faces) > 0 {
				t.Errorf("found %v", faces)
			}
		})
	}
}

func TestReduce(t *testing.T) {
	t.Parallel()
	// Two rows of two blocks of 2×2 pixels, and a column and a row left over.
	frame := preprocess.Frame{Width: 5, Height: 5, Pix: make([]byte, 5*5*3)}
	set := func(x, y int, r, g, b byte) { copy(frame.Pix[(y*5+x)*3:], []byte{r, g, b}) }
	for _, p := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
		set(p[0], p[1], 255, 255, 255)
		set(p[0]+2, p[1], 200, 100, 50) // 0.299*200 + 0.587*100 + 0.114*50 = 124.2
	}
	set(0, 2, 0, 0, 255) // a quarter of 29.07
	set(3, 3, 0, 255, 0) // a quarter of 149.685
	set(4, 4, 255, 255, 255)
	var b buffer
	for range 2 { // what was there before does not shine through
		b.reduce(frame, 2)
		if want := []byte{255, 124, 7, 37}; !slices.Equal(b.pix, want) {
			t.Fatalf("got %v, want %v", b.pix, want)
		}
	}
	b.reduce(frame, 5)
	if len(b.pix) != 1 {
		t.Fatalf("got %d pixels", len(b.pix))
	}
}

func TestContinued(t *testing.T) {
	t.Parallel()
	b := buffer{picture: picture{[]byte{1, 2, 3, 4, 5, 6}, 3, 2}}
	want := []byte{
		1, 1, 1, 2, 3, 3, 3,
		1, 1, 1, 2, 3, 3, 3,
		1, 1, 1, 2, 3, 3, 3,
		4, 4, 4, 5, 6, 6, 6,
		4, 4, 4, 5, 6, 6, 6,
		4, 4, 4, 5, 6, 6, 6,
	}
	if got := b.continued(2).pix; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// A cascade that was cut off is an error and no panic.
func TestCascadeIsTooShort(t *testing.T) {
	t.Parallel()
	for name, cascade := range map[string][]byte{"nothing": nil, "no trees": make([]byte, 16)} {
		if _, err := NewFinder(cascade, DefaultOptions()); err == nil || !strings.Contains(err.Error(), "too short") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Options){
		"side":     func(o *Options) { o.Side = 63 },
		"smallest": func(o *Options) { o.Smallest = 19 },
		"most":     func(o *Options) { o.Most = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := DefaultOptions()
			spoil(&opts)
			if _, err := NewFinder(nil, opts); err == nil || !strings.Contains(err.Error(), name) {
				t.Fatalf("got %v", err)
			}
		})
	}
}
