//go:build gocv_specific_modules

package main

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/account"
	"deepfaked/internal/config"
	"deepfaked/internal/postgrestest"
	"deepfaked/internal/spool"
	"deepfaked/internal/store"
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

// While the clock may be wrong nothing is deleted by it, kept uploads no more than results,
// and the log says what to do.
func TestNothingIsDeletedByAClockInDoubt(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s, kept := keeping(t, "", time.Nanosecond, &log)
	judgedIn(t, s.ledger)
	seen := func(ago time.Duration) {
		require.NoError(t, s.books.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.ExecContext(t.Context(), `INSERT INTO clock (id, seen_at) VALUES (1, $1)
				ON CONFLICT (id) DO UPDATE SET seen_at = $1`, time.Now().Add(-ago).UnixMicro())
			return err
		}))
	}

	seen(40 * 24 * time.Hour)
	s.purge(t.Context())
	assert.Contains(t, log.String(), "level=WARN")
	assert.Contains(t, log.String(), "if it is wrong, put it right")
	assert.FileExists(t, kept)
	log.Reset()
	seen(time.Hour)
	s.purge(t.Context())
	assert.Contains(t, log.String(), "detections=1")
	assert.NoFileExists(t, kept)
}

// TestKeptUploadsAreLeftWhereTheBooksDoNotAnswer: where the database was away nobody could tell whether
// the clock had leapt, and kept uploads were deleted by it all the same, for good.
func TestKeptUploadsAreLeftWhereTheBooksDoNotAnswer(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s, kept := keeping(t, "", time.Nanosecond, &log)

	rename(t, s, "clock", "elsewhere")
	s.purge(t.Context())
	assert.Contains(t, log.String(), "kept uploads are left as well")
	assert.FileExists(t, kept)
	rename(t, s, "elsewhere", "clock")
	s.purge(t.Context())
	assert.NoFileExists(t, kept)
}

// TestKeptUploadsGoByTheEarlierClock: with PostgreSQL each machine deleted kept uploads by its own clock: one
// whose clock had leapt ahead deleted what it had kept a moment before.
func TestKeptUploadsGoByTheEarlierClock(t *testing.T) {
	t.Parallel()
	const month = 31 * 24 * time.Hour
	for name, c := range map[string]struct {
		ahead time.Duration // of the database's clock
		keeps time.Duration
		left  bool
	}{
		"it leapt ahead": {month, time.Hour, true},
		"it is right":    {0, time.Nanosecond, false},
		"it is behind":   {-month, time.Hour, true}, // as the times of its files are
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, kept := keeping(t, postgrestest.Behind(t, postgrestest.Database(t), c.ahead), c.keeps, io.Discard)
			s.purge(t.Context())
			_, err := os.Stat(kept)
			assert.Equal(t, c.left, err == nil, err)
		})
	}
}

// rename gives a table of the service's books another name: what asks for it finds none.
func rename(t *testing.T, s *service, table, name string) {
	t.Helper()
	require.NoError(t, s.books.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.ExecContext(t.Context(), `ALTER TABLE `+table+` RENAME TO `+name)
		return err
	}))
}

// keeping is a service with books in a database, or without one in its folder, and the path of an
// upload that it has kept a minute ago, for so long.
func keeping(t *testing.T, database string, retention time.Duration, log io.Writer) (s *service, kept string) {
	t.Helper()
	cfg := config.Default()
	cfg.Data, cfg.Database, cfg.KeepUploads, cfg.Retention.Results = t.TempDir(), database, true, retention
	s = &service{cfg: cfg, logger: slog.New(slog.NewTextHandler(log, nil))}
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	require.NoError(t, s.openBooks(t.Context()))
	var err error
	s.uploads, err = spool.New(spoolOptions(cfg))
	require.NoError(t, err)
	file, err := s.uploads.Create()
	require.NoError(t, err)
	require.NoError(t, file.Keep("det_1"))
	require.NoError(t, file.Close())
	kept = filepath.Join(cfg.Data, "uploads", "det_1")
	ago := time.Now().Add(-time.Minute)
	require.NoError(t, os.Chtimes(kept, ago, ago))
	return s, kept
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
