package job

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Processes that are started at the same time on a new database make the queue's
// tables once, and all come up.
func TestMigrateInParallel(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			p, err := openPlace(t.Context(), w)
			if assert.NoError(t, err) {
				assert.NoError(t, Migrate(t.Context(), p.books))
				assert.NoError(t, p.close())
			}
		})
	}
	group.Wait()
}
