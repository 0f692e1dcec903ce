package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/account"
)

// newKey makes a key as an operator does.
func newKey(t testing.TB, data, account, plan string) string {
	t.Helper()
	out := call(t, "keys", "create", "--data", data, "--account", account, "--plan", plan).ok(t)
	require.Regexp(t, regexp.MustCompile(`^dfk_[a-z0-9]+_[A-Za-z0-9_-]+\n$`), out, "only the key is printed")
	return strings.TrimSpace(out)
}

// idOf is the part of a key that keys list shows.
func idOf(key string) string { return key[:strings.Index(key[4:], "_")+4] }

func TestKeys(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first, second := newKey(t, data, "alice", "starter"), newKey(t, data, "alice", "starter")
	other := newKey(t, data, "bob", "free")
	assert.NotEqual(t, first, second)

	list := call(t, "keys", "list", "--data", data).ok(t)
	require.Len(t, strings.Split(strings.TrimSpace(list), "\n"), 4)
	for _, want := range []string{"ID", "ACCOUNT", "PLAN", "REVOKED", idOf(first), idOf(second), idOf(other), "alice", "starter", "bob", "free"} {
		assert.Contains(t, list, want)
	}
	for _, key := range []string{first, second, other} {
		assert.NotContains(t, list, key, "a key is shown once")
	}

	assert.Contains(t, call(t, "keys", "revoke", "--data", data, first).ok(t), idOf(first))
	assert.Contains(t, call(t, "keys", "revoke", "--data", data, idOf(other)).ok(t), "bob")
	for line := range strings.SplitSeq(call(t, "keys", "list", "--data", data).ok(t), "\n") {
		if strings.Contains(line, "dfk_") {
			assert.Equal(t, strings.HasPrefix(line, idOf(second)), strings.HasSuffix(line, " -"), "revoked or not: %s", line)
		}
	}
}

// TestKeysPlan: the service tells clients to upgrade their plan, and nobody could.
func TestKeysPlan(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	newKey(t, data, "alice", "starter")
	assert.Equal(t, "Moved account alice from starter to pro.\n", call(t, "keys", "plan", "--data", data, "alice", "pro").ok(t))
	assert.Regexp(t, `alice +pro`, call(t, "keys", "list", "--data", data).ok(t))
	newKey(t, data, "alice", "pro")
	call(t, "keys", "plan", "--data", data, "bob", "pro").refused(t, exitFailed, "bob", "keys list")
	// Its sentence broke off there, and what followed stood by itself.
	call(t, "keys", "plan", "--data", data, "bob\nMoved account alice", "pro").refused(t, exitFailed, `account "bob\nMoved account alice"; keys list`)
	call(t, "keys", "plan", "--data", data, "alice", "gold").refused(t, exitUsage, "gold", "starter")
}

func TestKeysRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	newKey(t, data, "alice", "starter")
	call(t, "keys", "create", "--data", data, "--account", "alice", "--plan", "pro").refused(t, exitFailed, "alice", "starter")
	call(t, "keys", "create", "--data", data, "--account", "two words", "--plan", "pro").refused(t, exitFailed, "two words", "letters")
	call(t, "keys", "revoke", "--data", data, "dfk_nothing").refused(t, exitFailed, "no such key", "keys list")
}

// TestKeysOfNoService: a mistyped folder was answered with an empty list, and a
// database was left in it.
func TestKeysOfNoService(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	call(t, "keys", "list", "--data", data).refused(t, exitFailed, data, "--data")
	call(t, "keys", "revoke", "--data", data, "x").refused(t, exitFailed, data, "--data")
	left, err := os.ReadDir(data)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestKeysOfNoName: the name was refused once a folder and a database had been made.
func TestKeysOfNoName(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	call(t, "keys", "create", "--data", data, "--account", "two words", "--plan", "pro").refused(t, exitFailed, "two words", "letters")
	assert.NoDirExists(t, data)
}

// TestAKeyThatCouldNotBePrinted: on a full disk, or in a pipe whose reader had gone, it was lost and
// good for ever, and who tried again had one key more each time.
func TestAKeyThatCouldNotBePrinted(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	create := []string{"keys", "create", "--data", data, "--account", "alice", "--plan", "pro"}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { _ = full.Close() }()
	var log bytes.Buffer
	assert.Equal(t, exitFailed, run(t.Context(), create, full, &log))
	assert.Contains(t, log.String(), "has been revoked again: write /dev/full: no space left")

	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	process := exec.CommandContext(t.Context(), os.Args[0], create...)
	process.Stdout = writer
	require.Error(t, process.Run())
	require.NoError(t, writer.Close())
	assert.Equal(t, exitFailed, process.ProcessState.ExitCode())

	list := call(t, "keys", "list", "--data", data).ok(t)
	assert.Equal(t, 3, strings.Count(list, "\n"), list)
	assert.NotRegexp(t, `-\n`, list, "a key that nobody has is not revoked")
}

// TestAKeyThatStays: where it can't be revoked either, the error says which one it is.
func TestAKeyThatStays(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	err := withLedger(t.Context(), configFlags{}, booksFlags{dataFlag: dataFlag{&data}}, makes, func(l *account.Ledger) error {
		return withdraw(t.Context(), l, "dfk_gone", syscall.ENOSPC)
	})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, "the key dfk_gone could not be printed, nor revoked again")
}

// TestKeysAreStoredHashed looks for the secret in the database itself.
func TestKeysAreStoredHashed(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	secret := newKey(t, data, "alice", "pro")
	files, err := os.ReadDir(data)
	require.NoError(t, err)
	for _, f := range files {
		content, err := os.ReadFile(data + "/" + f.Name())
		require.NoError(t, err)
		assert.NotContains(t, string(content), secret[len(idOf(secret)):], f.Name())
	}
}
