package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClaim(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	release, err := Claim(dir)
	require.NoError(t, err)
	_, err = Claim(dir)
	require.ErrorIs(t, err, ErrClaimed)
	require.ErrorContains(t, err, "another deepfaked serves the data folder "+dir)
	open(t, dir) // a command such as keys is not kept out

	other, err := Claim(t.TempDir())
	require.NoError(t, err, "another folder is another matter")
	require.NoError(t, other())

	require.NoError(t, release())
	require.NoError(t, release())
	again, err := Claim(dir)
	require.NoError(t, err)
	require.NoError(t, again())
	info, err := os.Stat(filepath.Join(dir, lockName))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	// It goes before Open, so it may be the first to make the folder.
	absent := filepath.Join(dir, "absent", "data")
	first, err := Claim(absent)
	require.NoError(t, err)
	require.NoError(t, first())
	info, err = os.Stat(absent)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	_, err = Claim(filepath.Join(dir, lockName, "data"))
	assert.ErrorContains(t, err, "is not a folder")
}
