package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/postgrestest"
	"deepfaked/internal/store"
)

// newKeyIn makes a key in a database.
func newKeyIn(t testing.TB, database, account, plan string) string {
	t.Helper()
	return strings.TrimSpace(call(t, "keys", "create", "--database", database, "--account", account, "--plan", plan).ok(t))
}

func TestKeysOfADatabase(t *testing.T) {
	t.Parallel()
	database := postgrestest.Database(t)
	first, second := newKeyIn(t, database, "alice", "pro"), newKeyIn(t, database, "bob", "free")
	assert.Contains(t, call(t, "keys", "revoke", "--database", database, first).ok(t), "alice")
	list := call(t, "keys", "list", "--database", database).ok(t)
	assert.Regexp(t, idOf(first)+` +alice +pro +\S+Z +\S+Z\n`, list)
	assert.Regexp(t, idOf(second)+` +bob +free +\S+Z +-\n`, list)
	call(t, "keys", "revoke", "--database", database, "dfk_nothing").refused(t, exitFailed, "no such key")
}

// Whoever listed keys with a newer program had migrated the database, and old processes could not start again.
func TestKeysLeaveAnOlderSchemaAlone(t *testing.T) {
	t.Parallel()
	opts := store.DefaultOptions()
	opts.Database = postgrestest.Database(t)
	newKeyIn(t, opts.Database, "alice", "pro") // into an empty database, which is set up
	books, err := store.Open(t.Context(), "", opts)
	require.NoError(t, err)
	defer func() { assert.NoError(t, books.Close()) }()
	require.NoError(t, books.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.ExecContext(t.Context(), `DELETE FROM migrations WHERE version > 1; DROP TABLE homes, clock; ALTER TABLE detections DROP COLUMN period`)
		return err
	}))
	for _, command := range [][]string{{"list"}, {"revoke", "x"}, {"plan", "alice", "free"}, {"create", "--account", "bob", "--plan", "free"}} {
		s := call(t, slices.Concat([]string{"keys"}, command, []string{"--data", t.TempDir(), "--database", opts.Database})...)
		s.refused(t, exitFailed, "its schema is version 1", "start a service of this version")
	}
	var version int
	require.NoError(t, books.Reader().QueryRowContext(t.Context(), `SELECT max(version) FROM migrations`).Scan(&version))
	assert.Equal(t, 1, version)
}

// A database that can't be used is one sentence at the start, and never a password.
func TestDatabasesRefused(t *testing.T) {
	t.Parallel()
	good := postgrestest.OverTCP(postgrestest.Database(t))
	newer := postgrestest.OverTCP(postgrestest.Database(t))
	opts := store.DefaultOptions()
	opts.Database = newer
	books, err := store.Open(t.Context(), "", opts)
	require.NoError(t, err)
	require.NoError(t, books.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO migrations (version, name) VALUES (99, 'future')`)
		return err
	}))
	require.NoError(t, books.Close())
	name := good[strings.LastIndex(good, "/"):strings.LastIndex(good, "?")]
	for what, c := range map[string]struct {
		address string
		code    int
		words   []string
	}{
		"another database":   {"mysql://root:secret@host/x", exitUsage, []string{"mysql://", "only postgres:// is known"}},
		"SQLite by address":  {"sqlite:///data/secret.db", exitUsage, []string{"sqlite://", "leave it out for SQLite"}},
		"a file":             {"/data/secret.db", exitUsage, []string{"postgres://USER:PASSWORD@HOST"}},
		"what is no address": {"postgres://u:sec%ret@h/x", exitFailed, []string{"can't be read", "%40 for @"}},
		"a port too many":    {"postgres://u:sec/ret@h:1/x", exitFailed, []string{"can't be read"}},
		"nobody there":       {"postgres://u:secret@127.0.0.1:1/x?sslmode=disable", exitFailed, []string{"x on 127.0.0.1:1 can't be reached", "--database"}},
		"a wrong password":   {strings.Replace(good, postgrestest.Password, "secret", 1), exitFailed, []string{"does not let the user postgres in"}},
		"an unknown name":    {strings.Replace(good, name, "/absent", 1), exitFailed, []string{"there is no database absent"}},
		"a newer schema":     {newer, exitFailed, []string{"its schema is version 99", "run the newer deepfaked"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for _, command := range [][]string{{"keys", "list"}, {"serve", "--listen", "127.0.0.1:0"}, {"worker"}} {
				s := call(t, append(command, "--data", t.TempDir(), "--database", c.address)...)
				s.refused(t, c.code, c.words...)
				assert.NotContains(t, s.err, postgrestest.Password)
				assert.NotContains(t, s.err, "secret")
				assert.NotContains(t, s.err, "sec")
			}
		})
	}
}

// The lines around a mistake in a configuration were shown with it.
func TestAPasswordIsNotQuoted(t *testing.T) {
	t.Parallel()
	file := write(t, "c.yaml", []byte("database: postgres://u:secret@h/x\nlisten_on: x\n"))
	s := call(t, "serve", "--config", file)
	s.refused(t, exitUsage, "[2:1]", "listen_on")
	assert.NotContains(t, s.err, "secret")
}

func TestWorkersRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	call(t, "worker", "--data", data, "--database", "postgres://h/x", "--workers", "0").refused(t, exitUsage, "--workers")
	// One whose --database was forgotten said that it was ready, and had nothing to do for ever.
	call(t, "worker", "--data", data).refused(t, exitUsage, "--database")
}
