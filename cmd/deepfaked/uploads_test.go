//go:build gocv_specific_modules

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"deepfaked/internal/bucket/buckettest"
	"deepfaked/internal/config"
)

// credentials makes a file of the server's, for a process to have in its environment.
func credentials(t *testing.T) (variable, file string) {
	t.Helper()
	file, err := buckettest.Credentials(t.TempDir())
	require.NoError(t, err)
	return "AWS_SHARED_CREDENTIALS_FILE", file
}

// objects are the names of the uploads in a bucket.
func objects(t *testing.T, server *buckettest.Server) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(server.Folder("uploads"), "det_*"))
	require.NoError(t, err)
	for i := range paths {
		paths[i] = filepath.Base(paths[i])
	}
	return paths
}

// With --uploads s3://… jobs lie in the bucket until they have ended. They wait
// while it is away, and one that is cut off there fails alone.
func TestJobsInABucket(t *testing.T) {
	t.Parallel()
	server := buckettest.Start(t, "uploads")
	variable, file := credentials(t)
	environment := []string{variable + "=" + file}
	data, film, flags := t.TempDir(), longFilm(t), []string{"--uploads", server.URL("uploads", buckettest.Root), "--workers"}
	key := newKey(t, data, "patient", "pro")
	submit := func(s *instance) string {
		a := s.detect(t, key, film, "async", "true")
		require.Equal(t, 202, a.status, a.raw)
		return a.id()
	}
	s, end := spawnIn(t, environment, data, append(flags, "0")...)
	cut, whole := submit(s), submit(s)
	assert.ElementsMatch(t, []string{cut, whole}, objects(t, server))
	assert.NoDirExists(t, filepath.Join(data, "jobs"))
	end(unix.SIGKILL)
	require.NoError(t, os.Truncate(filepath.Join(server.Folder("uploads"), cut), int64(len(film)/2)))

	s, end = spawnIn(t, environment, data, append(flags, "1")...)
	broken := s.finished(t, key, cut)
	assert.Equal(t, "failed", broken["status"])
	assert.Contains(t, broken["error"], "The upload was lost")
	assert.Equal(t, "complete", s.finished(t, key, whole)["status"])
	ids := []string{submit(s), submit(s), submit(s)}
	server.Stop()
	s.logs.await(t, `"msg":"job waits for its upload"`)
	message := s.detect(t, key, film, "async", "true").want(t, 500, "internal_error")
	assert.Contains(t, message, "can't put the upload into its store")
	server.Start()
	for _, id := range ids {
		assert.Equal(t, "complete", s.finished(t, key, id)["status"])
	}
	assert.InDelta(t, 4, s.usage(t, key), 0)
	assert.Eventually(t, func() bool { return len(objects(t, server)) == 0 }, patience, 50*time.Millisecond, "uploads of jobs that have ended")
	assert.Zero(t, end(unix.SIGTERM), "exit code")
}

// A place for uploads that can't be used keeps the service from starting.
func TestUploadsRefused(t *testing.T) {
	server := buckettest.Start(t, "uploads")
	t.Setenv(credentials(t))
	for name, c := range map[string]struct {
		uploads string
		words   []string
	}{
		"a bucket without rights": {server.URL("uploads", buckettest.Guest), []string{"uploads", "can't be written to", "give them the right"}},
		"no such bucket":          {server.URL("downloads", buckettest.Root), []string{"s3://downloads", "does not exist"}},
		"no such folder":          {"file:///nonexistent", []string{"uploads", "/nonexistent", "must be there"}},
	} {
		t.Run(name, func(t *testing.T) {
			call(t, "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--uploads", c.uploads).refused(t, exitFailed, c.words...)
		})
	}
}

// The line of the log that names the bucket had the password of its endpoint in it.
func TestPlaceOfUploadsTellsNoPassword(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Uploads = "s3://uploads?endpoint=http://u:secret@minio:9000"
	assert.Equal(t, "s3://uploads?endpoint=http://u:xxxxx@minio:9000", placeOf(cfg))
}
