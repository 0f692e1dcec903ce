package account

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/postgrestest"
)

// What the database did not take while it was away is written down when it is back.
func TestEndsWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	l := open(t, server.Database(t), at("2026-01-15T12:00:00Z"))
	a := join(t, l, "ann", "starter")
	released, failed := reserve(t, l, a, false), reserve(t, l, a, true)
	server.Kill()
	_, err := l.Settle(t.Context(), released, outcome)
	require.Error(t, err)
	require.Error(t, l.Release(t.Context(), released))
	require.Error(t, l.Fail(t.Context(), failed, "It broke."))
	left, err := l.Retry(t.Context())
	require.Error(t, err)
	assert.Equal(t, 2, left)
	require.NoError(t, server.Run())
	left, err = l.Retry(t.Context())
	require.NoError(t, err)
	assert.Zero(t, left)
	used, reserved, err := places(t.Context(), l, a)
	require.NoError(t, err)
	assert.Zero(t, used)
	assert.Zero(t, reserved)
	assert.Equal(t, "failed It broke.", stateOf(t, l, a, failed))
}

// PostgreSQL takes neither a zero byte nor what is not UTF-8 for text: asking for
// such an id was the service's own error.
func TestWhatIsNoText(t *testing.T) {
	t.Parallel()
	onBoth(t, testWhatIsNoText)
}

func testWhatIsNoText(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	a := join(t, l, "ann", "pro")
	for _, id := range []string{"det_\x00", "det_\xff\xfe", ""} {
		_, err := l.Detection(t.Context(), a, id)
		require.ErrorIs(t, err, ErrNotFound, "%q", id)
		_, err = l.RevokeKey(t.Context(), id)
		require.ErrorIs(t, err, ErrKeyNotFound, "%q", id)
	}
	id := reserve(t, l, a, true)
	require.NoError(t, l.Fail(t.Context(), id, "The codec \x00\xff is not known."))
	assert.Equal(t, "failed The codec \uFFFD\uFFFD is not known.", stateOf(t, l, a, id))
}

// Whoever is first makes the account, and the others find it.
func TestKeysOfANewAccountAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, testKeysOfANewAccountAtOnce)
}

func testKeysOfANewAccountAtOnce(t *testing.T, fresh database) {
	t.Helper()
	of, c := fresh(t), at("2026-01-15T12:00:00Z")
	processes := []*Ledger{open(t, of, c), open(t, of, c)}
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			_, err := processes[i%2].CreateKey(t.Context(), "ann", "pro")
			assert.NoError(t, err)
		})
	}
	group.Wait()
	keys, err := processes[0].ListKeys(t.Context())
	require.NoError(t, err)
	assert.Len(t, keys, 16)
}
