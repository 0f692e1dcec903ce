//go:build gocv_specific_modules

package main

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/models"
)

// testRealMedia: photographs, generated pictures, recordings and films from the
// world outside each get a verdict. They are not part of the repository.
func (s *instance) testRealMedia(t *testing.T) {
	data, heldOut := realMedia(t)
	key := newKey(t, s.data, "real", "pro")
	for archive, want := range map[string]struct {
		kind  string
		files int
	}{"images.tar": {"image", 5}, "images2.tar": {"image", 5}, "faces.tar": {"image", 5}, "speech.tar": {"audio", 5}, "video.tar": {"video", 3}} {
		files := firstOf(t, filepath.Join(data, archive), want.files, heldOut)
		assert.NotZero(t, len(files), archive)
		for name, content := range files {
			t.Run(archive+" "+name, func(t *testing.T) {
				t.Parallel()
				got := s.detect(t, key, content).judged(t)
				assert.Equal(t, want.kind, got.body["media_type"])
			})
		}
	}
}

// testFaces: in portraits a face is found, and judged. The cascade that looked for
// them before missed every fourth.
func (s *instance) testFaces(t *testing.T) {
	data, heldOut := realMedia(t)
	key := newKey(t, s.data, "faces", "pro")
	files, found := firstOf(t, filepath.Join(data, "faces.tar"), 40, heldOut), 0
	for _, content := range files {
		report := s.report(t, key, s.detect(t, key, content).judged(t).id())
		if len(times(report, models.FaceManipulation)) > 0 {
			found++
		}
	}
	t.Logf("faces in %d of %d portraits", found, len(files))
	assert.Greater(t, 10*found, 9*len(files))
}

// realMedia is their folder, and the checksums of those that are held out.
func realMedia(t *testing.T) (folder, heldOut string) {
	t.Helper()
	folder = filepath.Join("..", "..", "..", "shared", "data")
	sums, err := os.ReadFile(filepath.Join(folder, "held-out.sha256"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no real media here: %s is absent", folder)
	}
	require.NoError(t, err)
	return folder, string(sums)
}

// firstOf reads the first n media files of an archive that the server takes and
// that are not held out for measuring.
func firstOf(t *testing.T, archive string, n int, heldOut string) map[string][]byte {
	t.Helper()
	return firstIn(t, archive, "", n, heldOut)
}

// firstIn reads those whose names begin in a certain way.
func firstIn(t *testing.T, archive, prefix string, n int, heldOut string) map[string][]byte {
	t.Helper()
	file, err := os.Open(archive)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no real media here: %s is absent", archive)
	}
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	found := map[string][]byte{}
	for list := tar.NewReader(file); len(found) < n; {
		entry, err := list.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if entry.Typeflag != tar.TypeReg || entry.Size > 8<<20 || !isMedia(entry.Name) || !strings.HasPrefix(entry.Name, prefix) {
			continue
		}
		content, err := io.ReadAll(list)
		require.NoError(t, err)
		if sum := sha256.Sum256(content); !strings.Contains(heldOut, hex.EncodeToString(sum[:])) {
			found[path.Base(entry.Name)] = content
		}
	}
	return found
}

func isMedia(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".png", ".webp", ".flac", ".wav", ".mp3", ".ogg", ".mp4", ".mov", ".webm":
		return true
	}
	return false
}
