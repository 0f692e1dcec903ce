//go:build gocv_specific_modules

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestFilmsDoNotShutOutPictures: jobs with films had all decoders, and a picture that somebody
// waited for was judged after one of them, or answered 500 each time that it was sent.
func TestFilmsDoNotShutOutPictures(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	s := serve(t, unhurried, "--decoders", "1", "--deadline", "100s")
	s.logs.await(t, ready)
	jobs, key := newKey(t, s.data, "archive", "pro"), newKey(t, s.data, "person", "pro")
	film := s.detect(t, jobs, longFilm(t), "async", "true")
	require.Equal(t, 202, film.status, film.raw)
	pid := s.working(t)
	require.NoError(t, unix.Kill(pid, unix.SIGSTOP)) // a film that takes longer than anything else
	for range 2 {
		s.detect(t, key, somePicture(t)).judged(t)
	}
	require.NoError(t, unix.Kill(pid, unix.SIGCONT))
	assert.Equal(t, "complete", s.finished(t, jobs, film.id())["status"])
}
