package store

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Processes that are started at once on a new database have one secret, which stays.
func TestSecret(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b backend) {
		t.Helper()
		const processes = 8
		stores, got := make([]*Store, processes), make([]string, processes)
		for i := range stores {
			stores[i] = b.open(t)
		}
		var group sync.WaitGroup
		for i, s := range stores {
			group.Go(func() {
				value, err := s.Secret(t.Context(), "key", func() ([]byte, error) { return []byte{byte(i), 0, 0xff}, nil })
				assert.NoError(t, err)
				got[i] = string(value)
			})
		}
		group.Wait()
		for _, value := range got {
			assert.Len(t, value, 3)
			assert.Equal(t, got[0], value)
		}
		again, err := stores[0].Secret(t.Context(), "key", func() ([]byte, error) { return nil, errors.New("there is one") })
		require.NoError(t, err)
		assert.Equal(t, got[0], string(again))
		_, err = stores[0].Secret(t.Context(), "other", func() ([]byte, error) { return nil, errors.New("none can be made") })
		require.EqualError(t, err, "none can be made")
	})
}
