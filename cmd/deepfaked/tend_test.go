//go:build gocv_specific_modules

package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/account"
)

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
