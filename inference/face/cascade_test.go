package face

import (
	"slices"
	"testing"

	pigo "github.com/esimov/pigo/core"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// pigo itself is the reference: windows and scores are the same to the bit.
func TestTheCascadeIsThatOfPigo(t *testing.T) {
	t.Parallel()
	finder := newFinder(t)
	packed, err := models.FaceCascade()
	if err != nil {
		t.Fatal(err)
	}
	reference, err := pigo.NewPigo().Unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	windows := 0
	compare := func(f preprocess.Frame, smallest int) {
		var b buffer
		b.reduce(f, 1)
		got := finder.cascade.search(&b, f.Width, f.Height, smallest, nil)
		want := reference.RunCascade(pigo.CascadeParams{
			MinSize: smallest, MaxSize: max(f.Width, f.Height), ShiftFactor: 0.1, ScaleFactor: 1.1,
			ImageParams: pigo.ImageParams{Pixels: b.pix, Rows: f.Height, Cols: f.Width, Dim: f.Width},
		}, 0)
		if !slices.Equal(got, want) {
			t.Errorf("%d by %d pixels: got %v, want %v", f.Width, f.Height, got, want)
		}
		windows += len(want)
	}
	compare(painted(320, 241), 20)
	compare(painted(101, 300), 33)
	for _, f := range photographs(t)[:6] {
		compare(f, 30)
	}
	if windows < 20 {
		t.Errorf("only %d windows hold a face: too few to compare", windows)
	}
}

func TestABrokenCascadeIsRefused(t *testing.T) {
	t.Parallel()
	packed, err := models.FaceCascade()
	if err != nil {
		t.Skip("no cascade to break: ", err)
	}
	none := make([]byte, 16)
	deep := slices.Clone(packed)
	deep[8] = 31
	many := slices.Clone(packed)
	many[15] = 0xff
	for name, broken := range map[string][]byte{
		"empty": nil, "only a head": packed[:16], "no trees": none, "too deep": deep, "too many trees": many,
		"cut off": packed[:len(packed)-1],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := NewFinder(broken, DefaultOptions()); err == nil {
				t.Error("it is accepted")
			}
		})
	}
}
