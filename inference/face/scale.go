package face

import "math"

// span says which pixels along an edge make one pixel of the scaled edge.
type span struct {
	first   int
	weights []float32 // of the pixels from first on; they add up to 1
}

// scaling spreads an edge of from pixels over to pixels: by the area that each
// covers where the edge becomes shorter, else by linear interpolation between
// the centres of pixels. Both are those of OpenCV.
func scaling(from, to int) []span {
	spans := make([]span, to)
	step := float64(from) / float64(to)
	for i := range spans {
		if from > to {
			spans[i] = covered(float64(i)*step, float64(i+1)*step, from)
		} else {
			spans[i] = between((float64(i)+0.5)*step-0.5, from)
		}
	}
	return spans
}

// covered weighs the pixels between two points by how much of them lies there.
func covered(begin, end float64, from int) span {
	const crumb = 1e-3 // OpenCV leaves out less than this of a pixel
	first, last := int(begin+crumb), min(int(math.Ceil(end-crumb)), from)
	s := span{first: first, weights: make([]float32, last-first)}
	var sum float64
	for i := range s.weights {
		share := min(end, float64(first+i+1)) - max(begin, float64(first+i))
		s.weights[i] = float32(share)
		sum += share
	}
	for i := range s.weights {
		s.weights[i] /= float32(sum)
	}
	return s
}

// between weighs the two pixels on either side of a point; beyond the outermost
// centres there is one.
func between(point float64, from int) span {
	first := int(math.Floor(point))
	switch {
	case first < 0:
		return span{first: 0, weights: []float32{1}}
	case first >= from-1:
		return span{first: from - 1, weights: []float32{1}}
	}
	share := float32(point - float64(first))
	return span{first: first, weights: []float32{1 - share, share}}
}
