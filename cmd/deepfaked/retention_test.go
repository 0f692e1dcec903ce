//go:build gocv_specific_modules

package main

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/account"
	"deepfaked/internal/config"
	"deepfaked/internal/postgrestest"
)

// Each process deleted by its own clock what was over: one that started with a clock
// that was a month ahead deleted everybody's results for good. And each noted by its own
// when a detection ended: of one that was a month behind the others deleted what it
// had just judged. All go by the database's clock.
func TestResultsAreKeptByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	const ahead = 31 * 24 * time.Hour
	rightly := func() time.Time { return time.Now().Add(-ahead) }
	cfg := config.Default()
	cfg.Data, cfg.Database = t.TempDir(), postgrestest.Behind(t, postgrestest.Database(t), ahead)
	s := &service{cfg: cfg, logger: slog.New(slog.DiscardHandler)}
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	require.NoError(t, s.openBooks(t.Context()))
	opts := account.DefaultOptions()
	opts.Now = rightly
	other, err := account.New(s.books, opts)
	require.NoError(t, err)

	judgedIn(t, other)
	assert.WithinDuration(t, rightly(), judgedIn(t, s.ledger).Completed, time.Minute)
	n, err := s.ledger.Purge(t.Context(), cfg.Retention.Results)
	require.NoError(t, err)
	assert.Zero(t, n)
}

// judgedIn is a detection that has come to its end in books.
func judgedIn(t *testing.T, books *account.Ledger) account.Detection {
	t.Helper()
	key, err := books.CreateKey(t.Context(), "ann", "pro")
	require.NoError(t, err)
	a, err := books.Authenticate(t.Context(), key.Token)
	require.NoError(t, err)
	id := account.NewDetectionID()
	require.NoError(t, books.Reserve(t.Context(), a, account.Submission{ID: id, Async: true, Sensitivity: "strict"}))
	d, err := books.Settle(t.Context(), id, account.Outcome{Kind: "image", Verdict: "real", Confidence: .75})
	require.NoError(t, err)
	return d
}
