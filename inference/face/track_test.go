package face

import (
	"image"
	"slices"
	"testing"
)

// at is a box of 20 by 20 pixels.
func at(x, y int) image.Rectangle { return image.Rect(x, y, x+20, y+20) }

func TestTracks(t *testing.T) {
	t.Parallel()
	type boxes = []image.Rectangle
	for name, c := range map[string]struct {
		first, middle, last boxes
		frames              int
		want                []boxes
	}{
		"still":           {boxes{at(5, 5)}, boxes{at(5, 5)}, boxes{at(5, 5)}, 3, []boxes{{at(5, 5), at(5, 5), at(5, 5)}}},
		"moving":          {boxes{at(0, 8)}, boxes{at(4, 4)}, boxes{at(7, 4)}, 5, []boxes{{at(0, 8), at(2, 6), at(4, 4), at(6, 4), at(7, 4)}}},
		"of an even row":  {boxes{at(0, 0)}, boxes{at(4, 0)}, boxes{at(6, 0)}, 4, []boxes{{at(0, 0), at(2, 0), at(4, 0), at(6, 0)}}},
		"of two":          {boxes{at(0, 0)}, boxes{at(4, 0)}, boxes{at(4, 0)}, 2, []boxes{{at(0, 0), at(4, 0)}}},
		"growing":         {boxes{image.Rect(10, 10, 20, 20)}, boxes{image.Rect(9, 8, 22, 22)}, boxes{image.Rect(9, 8, 22, 22)}, 5, []boxes{{image.Rect(10, 10, 20, 20), image.Rect(10, 9, 21, 21), image.Rect(9, 8, 22, 22), image.Rect(9, 8, 22, 22), image.Rect(9, 8, 22, 22)}}},
		"beyond the edge": {boxes{at(-7, 0)}, boxes{at(-10, 0)}, boxes{at(-10, 0)}, 5, []boxes{{at(-7, 0), at(-8, 0), at(-10, 0), at(-10, 0), at(-10, 0)}}},
		"comes":           {nil, boxes{at(0, 0)}, boxes{at(0, 0)}, 3, nil},
		"goes":            {boxes{at(0, 0)}, boxes{at(0, 0)}, nil, 3, nil},
		"is away between": {boxes{at(0, 0)}, nil, boxes{at(0, 0)}, 3, nil},
		"too far":         {boxes{at(0, 0)}, boxes{at(11, 0)}, boxes{at(11, 0)}, 3, nil}, // 9/31
		"just near":       {boxes{at(0, 0)}, boxes{at(10, 0)}, boxes{at(10, 0)}, 3, []boxes{{at(0, 0), at(10, 0), at(10, 0)}}},
		"two change":      {boxes{at(40, 0), at(0, 0)}, boxes{at(0, 0), at(40, 0)}, boxes{at(40, 0), at(0, 0)}, 2, []boxes{{at(0, 0), at(0, 0)}, {at(40, 0), at(40, 0)}}},
		"nearest first":   {boxes{at(4, 0)}, boxes{at(0, 0), at(6, 0)}, boxes{at(0, 0), at(6, 0)}, 2, []boxes{{at(4, 0), at(6, 0)}}},
		"second nearest":  {boxes{at(5, 0), at(-8, 0)}, boxes{at(0, 0), at(6, 0)}, boxes{at(0, 0), at(6, 0)}, 2, []boxes{{at(-8, 0), at(0, 0)}, {at(5, 0), at(6, 0)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Tracks(c.first, c.middle, c.last, c.frames)
			if !slices.EqualFunc(got, c.want, slices.Equal[boxes]) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
