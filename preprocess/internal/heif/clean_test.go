package heif

import (
	"encoding/binary"
	"image"
	"testing"
)

func TestCleanAperture(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fractions [8]int32 // of width, height, and how far right and down
		want      image.Rectangle
	}{
		"half":                 {[8]int32{50, 1, 80, 1, -25, 1, 0, 1}, image.Rect(0, 0, 50, 80)},
		"to the right":         {[8]int32{100, 2, 40, 1, 50, 2, 20, 1}, image.Rect(50, 40, 100, 80)},
		"half of a pixel":      {[8]int32{99, 1, 79, 1, 1, 2, -1, 2}, image.Rect(1, 0, 100, 79)},
		"between pixels":       {[8]int32{99, 1, 80, 1, 0, 1, 0, 1}, image.Rectangle{}},
		"a part of a pixel":    {[8]int32{99, 2, 80, 1, 0, 1, 0, 1}, image.Rectangle{}},
		"too wide":             {[8]int32{102, 1, 80, 1, 0, 1, 0, 1}, image.Rectangle{}},
		"beyond the left edge": {[8]int32{50, 1, 80, 1, -26, 1, 0, 1}, image.Rectangle{}},
		"below the lower edge": {[8]int32{100, 1, 40, 1, 0, 1, 21, 1}, image.Rectangle{}},
		"nothing":              {[8]int32{0, 1, 80, 1, 0, 1, 0, 1}, image.Rectangle{}},
		"by nothing":           {[8]int32{50, 0, 80, 1, 0, 1, 0, 1}, image.Rectangle{}},
		"off by nothing":       {[8]int32{50, 1, 80, 1, 0, 0, 0, 1}, image.Rectangle{}},
		"far off":              {[8]int32{-1, 1, 80, 1, -1 << 31, -1, 0, 1}, image.Rectangle{}},
	} {
		var b []byte
		for _, v := range tc.fractions {
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		}
		if got := cleanAperture(b, 100, 80); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	if got := cleanAperture(nil, 100, 80); !got.Empty() {
		t.Errorf("without one: %v", got)
	}
}
