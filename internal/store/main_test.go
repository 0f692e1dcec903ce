package store

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"deepfaked/internal/postgrestest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		postgrestest.Stop()
		os.Exit(code)
	}))
}

// backend opens the same new database again and again, as processes would.
type backend struct {
	dir  string
	opts Options
}

func (b backend) openAt(ctx context.Context, history []migration) (*Store, error) {
	if b.opts.Database != "" {
		return openPostgres(ctx, b.opts, history)
	}
	return openSQLite(ctx, b.dir, b.opts, history)
}

func (b backend) open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), b.dir, b.opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// onBoth runs a test on a new database of each kind.
func onBoth(t *testing.T, test func(*testing.T, backend)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, backend{t.TempDir(), DefaultOptions()})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		opts := DefaultOptions()
		opts.Database = postgrestest.Database(t)
		test(t, backend{"", opts})
	})
}
