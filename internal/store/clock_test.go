package store

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// The clock follows the database's, and is not put back by an answer that was long on
// its way.
func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c clock
		assert.Equal(t, time.Now(), c.now())
		database := func() time.Time { return time.Now().Add(-31 * 24 * time.Hour).Round(0) }
		hear := func(there, back time.Duration) {
			asked := time.Now()
			<-time.After(there)
			said := database()
			<-time.After(back)
			c.hear(said, asked)
		}
		hear(0, 0)
		<-time.After(time.Hour)
		assert.Equal(t, database(), c.now())
		hear(0, 9*time.Second)
		assert.Equal(t, database(), c.now())
		hear(9*time.Second, 0)
		assert.Equal(t, database(), c.now())

		c.hear(database().Add(time.Minute), time.Now())
		assert.Equal(t, database().Add(time.Minute), c.now(), "it was set forward")
		hear(time.Second, 2*time.Second)
		assert.Equal(t, database().Add(time.Second), c.now(), "it was set back, and no more is known than how long that took")
	})
}
