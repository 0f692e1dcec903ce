//go:build gocv_specific_modules

package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/config"
	"deepfaked/internal/spool"
)

// TestKeptUploadsAreDeletedWhereNoMoreAreKept: whoever switched keep_uploads off
// had everybody's media in the data folder for ever: only services that kept more
// of them looked for those whose time was over.
func TestKeptUploadsAreDeletedWhereNoMoreAreKept(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Data, cfg.KeepUploads = t.TempDir(), true
	s, err := spool.New(spoolOptions(cfg))
	require.NoError(t, err)
	file, err := s.Create()
	require.NoError(t, err)
	require.NoError(t, file.Keep("det_1"))
	require.NoError(t, file.Close())
	assert.FileExists(t, filepath.Join(cfg.Data, "uploads", "det_1"))

	cfg.KeepUploads = false
	s, err = spool.New(spoolOptions(cfg))
	require.NoError(t, err)
	n, err := s.Purge(time.Now().Add(time.Second))
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.NoFileExists(t, filepath.Join(cfg.Data, "uploads", "det_1"))
	cfg.Data = t.TempDir() // where none was ever kept
	s, err = spool.New(spoolOptions(cfg))
	require.NoError(t, err)
	n, err = s.Purge(time.Now().Add(time.Second))
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.NoDirExists(t, filepath.Join(cfg.Data, "uploads"))
}

// Beside a GPU with 16 cores 64 MiB held 200 sounds of ten seconds, and 1,600 waited: the others
// were hashed and written to the disk, to be refused mostly, and of twice the capacity a third of
// what could have been was answered.
func TestUploadsInMemoryGrowWithCores(t *testing.T) {
	t.Parallel()
	for cores, want := range map[int]int64{1: 64 << 20, 2: 64 << 20, 16: 512 << 20} {
		assert.Equal(t, want, uploadsInMemory(cores), "%d cores", cores)
	}
}
