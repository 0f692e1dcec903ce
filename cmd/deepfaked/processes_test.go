//go:build gocv_specific_modules

package main

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"deepfaked/internal/postgrestest"
)

// One process serves and others run its jobs. A job outlives the worker that has
// it, and a key that is revoked is refused at once.
func TestProcessesShareADatabase(t *testing.T) {
	t.Parallel()
	data, film := t.TempDir(), longFilm(t)
	database := postgrestest.OverTCP(postgrestest.Database(t))
	key := newKeyIn(t, database, "patient", "pro")
	server, endServer := spawn(t, data, "--database", database, "--workers", "0")
	accept := func() string {
		a := server.detect(t, key, film, "async", "true")
		require.Equal(t, 202, a.status, a.raw)
		return a.id()
	}
	first := accept()
	server.detect(t, key, somePicture(t)).judged(t)
	assert.Equal(t, "processing", server.get(t, key, "/v1/results/"+first).body["status"], "nobody runs jobs")

	worker, end := launch(t, nil, data, "worker", "--database", database)
	assert.Equal(t, "complete", server.finished(t, key, first)["status"])
	second := accept()
	require.Eventually(t, func() bool { return running(t, database) }, patience, 10*time.Millisecond, "the job is not begun")
	end(unix.SIGKILL)
	heir, endHeir := launch(t, nil, data, "worker", "--database", database)
	assert.Equal(t, "complete", server.finished(t, key, second)["status"])
	assert.InDelta(t, 3, server.usage(t, key), 0)

	call(t, "keys", "revoke", "--database", database, key).ok(t)
	server.get(t, key, "/v1/usage").want(t, 401, "unauthorized")
	assert.Zero(t, endHeir(unix.SIGTERM))
	assert.Zero(t, endServer(unix.SIGTERM))
	for _, s := range []*instance{server, worker, heir} {
		text, _ := s.logs.read()
		assert.NotContains(t, text, postgrestest.Password)
	}
}

// A database that goes away is the service's own error, and nothing is to be done
// when it comes back.
func TestDatabaseGoesAway(t *testing.T) {
	t.Parallel()
	postgres := postgrestest.Start(t)
	database := postgres.Database(t)
	key := newKeyIn(t, database, "patient", "pro")
	s, end := spawn(t, t.TempDir(), "--database", database, "--sessions", "0")
	s.logs.await(t, `"msg":"cores measured"`) // other starts are spared that
	s.detect(t, key, somePicture(t)).judged(t)
	postgres.Kill()
	s.get(t, key, "/v1/usage").want(t, 500, "internal_error")
	s.detect(t, key, somePicture(t)).want(t, 500, "internal_error")
	require.NoError(t, postgres.Run())
	require.Eventually(t, func() bool { return s.get(t, key, "/v1/usage").status == 200 }, patience, 50*time.Millisecond)
	s.detect(t, key, somePicture(t)).judged(t)
	a := s.detect(t, key, somePicture(t), "async", "true")
	require.Equal(t, 202, a.status, a.raw)
	assert.Equal(t, "complete", s.finished(t, key, a.id())["status"])
	assert.InDelta(t, 3, s.usage(t, key), 0)
	assert.Zero(t, end(unix.SIGTERM))
}

// running says whether a job is being run.
func running(t testing.TB, database string) (yes bool) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM river_job WHERE state = 'running')`).Scan(&yes))
	return yes
}
