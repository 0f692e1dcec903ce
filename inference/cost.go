package inference

import (
	"math"
	"math/bits"
	"time"

	"deepfaked/preprocess"
)

// class is what files cost much the same: those of one format and of a size
// between two powers of two.
type class struct {
	format preprocess.Format
	scale  int
}

// classOf looks at the head of the file.
func classOf(req Request) class {
	c := class{scale: bits.Len64(uint64(max(req.Size, 0)))}
	if req.File == nil {
		return c
	}
	head := make([]byte, sniffed)
	n, _ := req.File.ReadAt(head, 0) // what can't be read has no format
	c.format, _ = preprocess.Sniff(head[:n])
	return c
}

// film says whether a file may be a film or an animation, and so hold the memory of many
// frames while it is judged, or as much of a long sound: half an hour is 58 MB.
func (c class) film() bool {
	switch c.format {
	case "", preprocess.JPEG, preprocess.BMP, preprocess.TIFF:
		return false
	case preprocess.WAV, preprocess.MP3, preprocess.AAC, preprocess.FLAC, preprocess.AMR, preprocess.AMRWB:
		return c.scale > longSound[c.format]
	default:
		return true
	}
}

// longSound is the largest power of two of a size, as in class, that a sound of some ten minutes has.
var longSound = map[preprocess.Format]int{
	preprocess.WAV: 24, preprocess.FLAC: 24, preprocess.MP3: 21, preprocess.AAC: 21, preprocess.AMR: 19, preprocess.AMRWB: 19,
}

// sniffed is how many bytes tell the formats apart well enough to predict.
const sniffed = 512

// cost is for how long files of a class have their places, and how crowded it was
// meanwhile. In another crowd it would be longer in proportion: all share the machine.
type cost struct {
	took  time.Duration
	crowd float64
}

// in is the time in such a crowd.
func (c cost) in(crowd float64) time.Duration {
	return time.Duration(float64(c.took) * crowd / c.crowd)
}

// costs are moving averages. They are measured under whatever load there is, which is
// right for what waits: when it matters, all places are taken.
type costs map[class]cost

func (c costs) observe(k class, seen cost) {
	old, known := c[k]
	if !known {
		c[k] = seen
		return
	}
	c[k] = cost{
		old.took + time.Duration(smoothing*float64(seen.took-old.took)),
		old.crowd + smoothing*(seen.crowd-old.crowd),
	}
}

// credible is what such a file is believed at most that is let in now. One that is stopped on its way,
// with the whole process perhaps, counts for leap times the average, and not for more the more of them are.
func (c costs) credible(k class) time.Duration {
	if seen, known := c[k]; known {
		return leap * max(seen.took, 1)
	}
	return math.MaxInt64
}

// mean is that over all classes that have been seen, or a guess.
func (c costs) mean() time.Duration {
	if len(c) == 0 {
		return guess
	}
	var sum time.Duration
	for _, seen := range c {
		sum += seen.took
	}
	return sum / time.Duration(len(c))
}

// near is the cost of a file of this class, or of the nearest size of the format.
func (c costs) near(k class) (seen cost, known bool) {
	for off := range widest {
		for _, scale := range []int{k.scale + off, k.scale - off} {
			if seen, known := c[class{k.format, scale}]; known {
				return seen, true
			}
		}
	}
	return cost{}, false
}

// guess is the cost of the first files after the start.
const guess = 100 * time.Millisecond

// widest is how many powers of two a size may be off to be told anything by it.
const widest = 4
