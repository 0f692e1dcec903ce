package inference

import (
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
// frames while it is judged.
func (c class) film() bool {
	switch c.format {
	case "", preprocess.JPEG, preprocess.BMP, preprocess.TIFF,
		preprocess.WAV, preprocess.MP3, preprocess.AAC, preprocess.FLAC, preprocess.AMR, preprocess.AMRWB:
		return false
	default:
		return true
	}
}

// sniffed is how many bytes tell the formats apart well enough to predict.
const sniffed = 512

// costs are moving averages of the time for which files of a class have their
// places. They are measured under whatever load there is, which is right: when
// it matters, all places are taken.
type costs map[class]time.Duration

func (c costs) observe(k class, took time.Duration) {
	old, known := c[k]
	if !known {
		c[k] = took
		return
	}
	c[k] = old + time.Duration(smoothing*float64(took-old))
}

// of is the cost of a file of this class, the mean over all that has been seen where
// nothing near it has, or a guess.
func (c costs) of(k class) time.Duration {
	if took, known := c.near(k); known {
		return took
	}
	if len(c) == 0 {
		return guess
	}
	var sum time.Duration
	for _, took := range c {
		sum += took
	}
	return sum / time.Duration(len(c))
}

// near is the cost of a file of this class, or of the nearest size of the format.
func (c costs) near(k class) (took time.Duration, known bool) {
	for off := range widest {
		for _, scale := range []int{k.scale + off, k.scale - off} {
			if took, known := c[class{k.format, scale}]; known {
				return took, true
			}
		}
	}
	return 0, false
}

// guess is the cost of the first files after the start.
const guess = 100 * time.Millisecond

// widest is how many powers of two a size may be off to be told anything by it.
const widest = 4
