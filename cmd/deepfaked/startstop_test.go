//go:build gocv_specific_modules

package main

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/store"
)

// books opens the database of the service beside it.
func (s *instance) books(t testing.TB) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.data, store.FileName))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return conn
}

// TestStartsOnceTheDatabaseIsBack: a database that could not be written to while the
// models were loaded, for a backup or a failover, left the service answering 500 until
// somebody restarted it, long after the database was back.
func TestStartsOnceTheDatabaseIsBack(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	s := serve(t, "", "--sessions", "1", "--threads", "1")
	s.logs.await(t, `"msg":"ONNX Runtime loaded"`) // what looks at the books while that takes place needn't be waited for as well
	books := s.books(t)
	_, err := books.ExecContext(t.Context(), "PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE")
	require.NoError(t, err)
	s.logs.await(t, `"msg":"the jobs could not be started; that is tried again"`)
	s.get(t, "", "/readyz").want(t, 503, "not_ready")
	_, err = books.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	s.logs.await(t, ready)
	s.detect(t, newKey(t, s.data, "patient", "pro"), somePicture(t)).judged(t)
}

// TestStopBeginsNoJob: told to stop, the service began one job after the other while
// a request was on its way, and cut them off at the end of the drain time. What is
// accepted meanwhile waits for the next start.
func TestStopBeginsNoJob(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	s := serve(t, "jobs: {workers: 1}")
	s.logs.await(t, ready)
	books, key := s.books(t), newKey(t, s.data, "late", "pro")
	jobs := func(state string) (n int) {
		require.NoError(t, books.QueryRowContext(t.Context(), `SELECT count(*) FROM river_job WHERE state = $1`, state).Scan(&n))
		return n
	}
	body, contentType := form(t, somePicture(t), "async", "true")
	upload, err := io.ReadAll(body)
	require.NoError(t, err)
	slow, rest := io.Pipe()
	accepted := s.post(context.WithoutCancel(t.Context()), t, key, contentType, slow)
	_, err = rest.Write(upload[:100])
	require.NoError(t, err)
	film := longFilm(t) // once: the first could be done before the second was made
	assert.Equal(t, 202, s.detect(t, key, film, "async", "true").status)
	require.Eventually(t, func() bool { return jobs("running") == 1 }, patience, time.Millisecond)
	assert.Equal(t, 202, s.detect(t, key, film, "async", "true").status)

	stopped := make(chan int, 1)
	go func() { stopped <- s.stop() }()
	require.Eventually(t, func() bool { return jobs("completed") > 0 }, patience, time.Millisecond, "what runs comes to its end")
	assert.Never(t, func() bool { return jobs("running") > 0 || jobs("completed") > 1 }, time.Second, 10*time.Millisecond)
	_, err = io.Copy(rest, bytes.NewReader(upload[100:]))
	require.NoError(t, err)
	require.NoError(t, rest.Close())
	got := <-accepted
	assert.Equal(t, 202, got.status, got.raw)
	assert.Zero(t, <-stopped)
	assert.Equal(t, 2, jobs("available"))
}
