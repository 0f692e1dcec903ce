package account

import (
	"crypto/rand"
	"strings"

	"github.com/oklog/ulid/v2"
)

// DetectionPrefix begins the ids of detections, and of nothing else.
const DetectionPrefix = "det_"

// NewDetectionID makes "det_" and a ULID in lower case: it sorts by time to the
// millisecond. Its 80 random bits are fresh for each id, also within one
// millisecond: a counter there would let a client guess its neighbours' ids.
// It is safe for concurrent use.
func NewDetectionID() string { return DetectionPrefix + newULID() }

func newULID() string {
	return strings.ToLower(ulid.MustNew(ulid.Now(), rand.Reader).String())
}
