package account

import (
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNewDetectionID(t *testing.T) {
	t.Parallel()
	before := ulid.Now()
	id := NewDetectionID()
	assert.Regexp(t, `^det_[0-7][0-9a-hjkmnp-tv-z]{25}$`, id)
	u, err := ulid.ParseStrict(id[len("det_"):])
	require.NoError(t, err)
	assert.WithinRange(t, u.Timestamp(), ulid.Time(before), time.Now())
}

func TestDetectionIDsAreUniqueAndUnrelated(t *testing.T) {
	t.Parallel()
	const workers, each = 8, 2000
	ids := make(chan string, workers*each)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range each {
				ids <- NewDetectionID()
			}
		})
	}
	group.Wait()
	close(ids)
	// The first random character has 32 values. Ids that count up within a
	// millisecond would leave most neighbours equal in it.
	seen, values := map[string]bool{}, map[byte]int{}
	for id := range ids {
		seen[id] = true
		values[id[len("det_")+10]]++
	}
	assert.Len(t, seen, workers*each)
	assert.Len(t, values, 32)
	for c, n := range values {
		assert.InDelta(t, workers*each/32, n, 150, "%c", c) // 6.8 standard deviations
	}
}
