package face

import (
	"image"
	"math"
	"slices"
	"testing"

	"deepfaked/models"
	"deepfaked/preprocess"
)

func TestBoxes(t *testing.T) {
	t.Parallel()
	inf := float32(math.Inf(1))
	v := View{by: 2, reduced: preprocess.Frame{Width: 100, Height: 50}}
	for name, c := range map[string]struct {
		output []float32
		want   []image.Rectangle
	}{
		"none":                     {nil, nil},
		"surer than the threshold": {[]float32{0.1, 10, 10, 30, 30, -0.1, 50, 10, 80, 30}, []image.Rectangle{image.Rect(20, 20, 60, 60)}},
		"the weaker is dropped":    {[]float32{2, 10, 10, 30, 30, 1, 11, 10, 32, 30}, []image.Rectangle{image.Rect(20, 20, 60, 60)}},
		"neighbours stay":          {[]float32{2, 10, 10, 30, 30, 1, 28, 10, 48, 30}, []image.Rectangle{image.Rect(20, 20, 60, 60), image.Rect(56, 20, 96, 60)}},
		"largest first":            {[]float32{2, 10, 10, 20, 20, 1, 40, 10, 80, 30}, []image.Rectangle{image.Rect(80, 20, 160, 60), image.Rect(20, 20, 40, 40)}},
		"too small":                {[]float32{9, 10, 10, 14, 14}, nil},
		"long side counts":         {[]float32{9, 10, 10, 14, 15}, []image.Rectangle{image.Rect(20, 20, 28, 30)}},
		"no more than two":         {[]float32{3, 0, 0, 9, 9, 2, 20, 20, 30, 30, 1, 40, 0, 48, 8}, []image.Rectangle{image.Rect(40, 40, 60, 60), image.Rect(0, 0, 18, 18)}},
		"rounded":                  {[]float32{1, 10.3, 10.2, 20.8, 20.7}, []image.Rectangle{image.Rect(21, 20, 42, 41)}},
		// Edges that a model makes up cost no memory later on.
		"over the edges": {[]float32{1, -1e30, -inf, 1e30, inf}, []image.Rectangle{image.Rect(-200, -100, 400, 200)}},
		"upside down":    {[]float32{1, 30, 30, 10, 10}, nil},
		// The card says from where on a box is a face, and beyond which overlap one is dropped.
		"just as sure as the threshold": {[]float32{0, 10, 10, 30, 30}, []image.Rectangle{image.Rect(20, 20, 60, 60)}},
		"just as much overlap":          {[]float32{2, 0, 0, 7, 10, 1, 3, 0, 10, 10}, []image.Rectangle{image.Rect(0, 0, 14, 20), image.Rect(6, 0, 20, 20)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := v.Boxes(c.output, models.Detection{Threshold: 0.5, Overlap: 0.4}, Options{Smallest: 10, Most: 2})
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
