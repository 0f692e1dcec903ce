package job

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"deepfaked/internal/account"
	"deepfaked/internal/postgrestest"
)

// A job was due by the clock of the process that accepted it, and fetched by the
// database's. Where the one was an hour ahead of the other, jobs waited for an hour
// beside idle workers, and filled the queue for everybody.
func TestAcceptedByAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	w.database = postgrestest.Behind(t, w.database, time.Hour)
	f := setup(t, w, good, options(1))
	assert.Equal(t, account.Complete, f.ended(f.submit(1)[0]).State)
}
