//go:build gocv_specific_modules

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/account"
	"deepfaked/internal/store"
)

// When the file of the database was deleted or replaced the service said that it was ready, and accepted jobs
// that nobody found again, by keys that could no longer be revoked.
func TestADatabaseThatGoesAstray(t *testing.T) {
	t.Parallel()
	s := serve(t, unhurried, "--admin", "127.0.0.1:0")
	s.logs.await(t, ready)
	key := newKey(t, s.data, "patient", "pro")
	path, elsewhere := filepath.Join(s.data, store.FileName), filepath.Join(s.data, "elsewhere")
	require.NoError(t, os.Rename(path, elsewhere))
	s.logs.await(t, `"msg":"the database is not where it was opened`)
	s.get(t, "", "/readyz").want(t, 503, "not_ready")
	status, _ := s.admin(t, "/readyz")
	assert.Equal(t, 503, status)
	for _, async := range []string{"false", "true"} {
		s.detect(t, key, somePicture(t), "async", async).want(t, 503, "internal_error")
	}
	require.NoError(t, os.Rename(elsewhere, path))
	s.logs.await(t, `"msg":"the database is where it was opened again"`)
	assert.Equal(t, 200, s.get(t, "", "/readyz").status)
	s.detect(t, key, somePicture(t)).judged(t)
}

// One reason not to be ready hides no other: a service whose engine worked again said that it
// was, though its database was gone.
func TestReadyAgainButForTheDatabase(t *testing.T) {
	t.Parallel()
	s, _ := keeping(t, "", time.Hour, io.Discard)
	path := filepath.Join(s.cfg.Data, store.FileName)
	s.setReady(errors.New("the analysis fails"))
	require.NoError(t, os.Rename(path, path+".lost"))
	s.lookForBooks()
	require.ErrorContains(t, s.ready(), "the analysis fails")
	s.setReady(nil)
	require.ErrorContains(t, s.ready(), "the database")
	require.NoError(t, os.Rename(path+".lost", path))
	s.lookForBooks()
	assert.NoError(t, s.ready())
}

// What the database had not taken was forgotten by a service that was told to stop, though
// the database was back: a client who had been told of an error was charged.
func TestAServiceThatStopsTriesOnceMore(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s, _ := keeping(t, "", time.Hour, &log)
	key, err := s.ledger.CreateKey(t.Context(), "ann", "pro")
	require.NoError(t, err)
	a, err := s.ledger.Authenticate(t.Context(), key.Token)
	require.NoError(t, err)
	id := account.NewDetectionID()
	require.NoError(t, s.ledger.Reserve(t.Context(), a, account.Submission{ID: id, Async: true, Sensitivity: "strict"}))
	reserved := func() (n int) {
		require.NoError(t, s.books.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM reservations`).Scan(&n))
		return n
	}

	rename(t, s, "detections", "elsewhere")
	require.Error(t, s.ledger.Withdraw(t.Context(), id))
	s.settleUp()
	assert.Contains(t, log.String(), "may be charged")
	rename(t, s, "elsewhere", "detections")
	require.Equal(t, 1, reserved())
	s.settleUp()
	assert.Zero(t, reserved())
}
