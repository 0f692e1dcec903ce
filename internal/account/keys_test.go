package account

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/postgrestest"
	"deepfaked/internal/store"
)

func TestCreateKey(t *testing.T) {
	t.Parallel()
	onBoth(t, testCreateKey)
}

func testCreateKey(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	key, err := l.CreateKey(t.Context(), "ann", "starter")
	require.NoError(t, err)
	assert.Regexp(t, `^dfk_[a-z2-7]{10}_[A-Za-z0-9_-]{43}$`, key.Token)
	assert.Equal(t, key.Token[:14], key.ID)

	a, err := l.Authenticate(t.Context(), key.Token)
	require.NoError(t, err)
	assert.Equal(t, Account{ID: a.ID, Name: "ann", Plan: DefaultPlans()[1], Created: key.Created}, a)
	assert.Equal(t, "2026-01-15T12:00:00.123456Z", a.Created.Format(time.RFC3339Nano))
}

func TestSeveralKeysShareAnAccount(t *testing.T) {
	t.Parallel()
	onBoth(t, testSeveralKeysShareAnAccount)
}

func testSeveralKeysShareAnAccount(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh)
	first := join(t, l, "ann", "free")
	c.add(time.Hour)
	assert.Equal(t, first, join(t, l, "ann", "free"))
	assert.NotEqual(t, first.ID, join(t, l, "bob", "free").ID)
}

// What an account has used of a period stays used when its plan changes in between.
func TestChangePlan(t *testing.T) {
	t.Parallel()
	onBoth(t, testChangePlan)
}

func testChangePlan(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	key, err := l.CreateKey(t.Context(), "ann", "starter")
	require.NoError(t, err)
	a, err := l.Authenticate(t.Context(), key.Token)
	require.NoError(t, err)
	settle(t, l, reserve(t, l, a, true))
	began := reserve(t, l, a, true)

	had, err := l.ChangePlan(t.Context(), "ann", "pro")
	require.NoError(t, err)
	assert.Equal(t, "starter", had)
	a, err = l.Authenticate(t.Context(), key.Token)
	require.NoError(t, err)
	settle(t, l, began)
	u := usage(t, l, a)
	assert.Equal(t, []any{"pro", 2, a.Plan.Scans - 2}, []any{u.Plan, u.Used, u.Remaining})

	_, err = l.ChangePlan(t.Context(), "bob", "pro")
	require.ErrorIs(t, err, ErrNoAccount)
	_, err = l.ChangePlan(t.Context(), "ann", "gold")
	require.ErrorContains(t, err, "gold")
}

// TestReadsAreBounded: a PostgreSQL that hung, after a failover into nowhere, held
// every request for as long as its client had patience.
func TestReadsAreBounded(t *testing.T) {
	t.Parallel()
	l, _ := setup(t, postgrestest.Database)
	key, err := l.CreateKey(t.Context(), "ann", "pro")
	require.NoError(t, err)
	a, err := l.Authenticate(t.Context(), key.Token)
	require.NoError(t, err)
	l.look = 100 * time.Millisecond
	tx, err := l.store.Postgres().Begin(t.Context())
	require.NoError(t, err)
	defer func() { assert.NoError(t, tx.Rollback(context.WithoutCancel(t.Context()))) }()
	_, err = tx.Exec(t.Context(), `LOCK TABLE keys, scans, detections, submissions IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)

	_, err = l.Authenticate(t.Context(), key.Token)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = l.Usage(t.Context(), a)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = l.Detection(t.Context(), a, NewDetectionID())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, l.Check(t.Context(), a), context.DeadlineExceeded)
}

func TestCreateKeyRefuses(t *testing.T) {
	t.Parallel()
	onBoth(t, testCreateKeyRefuses)
}

func testCreateKeyRefuses(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	join(t, l, "ann", "free")
	for _, tt := range []struct{ name, account, plan, want string }{
		{"another plan", "ann", "pro", "the account ann has the plan free"},
		{"an unknown plan", "bob", "gold", `there is no plan "gold"`},
		{"no name", "", "free", "the account name"},
		{"a long name", strings.Repeat("a", 65), "free", "the account name"},
		{"a control character", "a\nb", "free", "the account name"},
		{"an option", "-a", "free", "the account name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := l.CreateKey(t.Context(), tt.account, tt.plan)
			assert.ErrorContains(t, err, tt.want)
		})
	}
	_, err := l.CreateKey(t.Context(), "ann", "pro")
	var conflict *PlanConflictError
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, PlanConflictError{Account: "ann", Plan: "free", Asked: "pro"}, *conflict)
	keys, err := l.ListKeys(t.Context())
	require.NoError(t, err)
	assert.Len(t, keys, 1, "a refusal leaves nothing")
}

func TestAuthenticateRefuses(t *testing.T) {
	t.Parallel()
	onBoth(t, testAuthenticateRefuses)
}

func testAuthenticateRefuses(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	key, err := l.CreateKey(t.Context(), "ann", "free")
	require.NoError(t, err)
	other, err := l.CreateKey(t.Context(), "bob", "free")
	require.NoError(t, err)
	for _, tt := range []struct{ name, token string }{
		{"empty", ""},
		{"the id alone", key.ID},
		{"a character less", key.Token[:len(key.Token)-1]},
		{"a character more", key.Token + "A"},
		{"upper case", strings.ToUpper(key.Token)},
		{"the secret of another key", key.ID + other.Token[len(other.ID):]},
		{"a wrong secret", key.ID + "_" + strings.Repeat("A", 43)},
		{"an unknown id", "dfk_aaaaaaaaaa" + key.Token[len(key.ID):]},
		{"quotes", "dfk_' OR 1=1 --" + strings.Repeat("A", 43)},
		{"not UTF-8", "dfk_\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff_" + strings.Repeat("A", 43)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := l.Authenticate(t.Context(), tt.token)
			assert.ErrorIs(t, err, ErrUnauthorized)
		})
	}
}

// What base64 ignores in the last character must not open a second spelling of
// the same key.
func TestAKeyHasOneSpelling(t *testing.T) {
	t.Parallel()
	onBoth(t, testAKeyHasOneSpelling)
}

func testAKeyHasOneSpelling(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	key, err := l.CreateKey(t.Context(), "ann", "free")
	require.NoError(t, err)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	accepted := 0
	for _, c := range alphabet {
		if _, err := l.Authenticate(t.Context(), key.Token[:keyLen-1]+string(c)); err == nil {
			accepted++
		}
	}
	assert.Equal(t, 1, accepted)
}

func TestRevokeKey(t *testing.T) {
	t.Parallel()
	onBoth(t, testRevokeKey)
}

func testRevokeKey(t *testing.T, fresh database) {
	t.Helper()
	for _, tt := range []struct {
		name string
		by   func(Key) string
	}{
		{"by id", func(k Key) string { return k.ID }},
		{"by key", func(k Key) string { return k.Token }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, c := fresh(t), at("2026-01-15T12:00:00Z")
			server, cli := open(t, dir, c), open(t, dir, c) // as two processes
			key, err := cli.CreateKey(t.Context(), "ann", "free")
			require.NoError(t, err)
			kept, err := cli.CreateKey(t.Context(), "ann", "free")
			require.NoError(t, err)
			_, err = server.Authenticate(t.Context(), key.Token)
			require.NoError(t, err)

			c.add(time.Minute)
			info, err := cli.RevokeKey(t.Context(), tt.by(key))
			require.NoError(t, err)
			assert.Equal(t, key.ID, info.ID)
			assert.Equal(t, c.Now(), info.Revoked)
			_, err = server.Authenticate(t.Context(), key.Token)
			require.ErrorIs(t, err, ErrUnauthorized, "the very next request")
			_, err = server.Authenticate(t.Context(), kept.Token)
			require.NoError(t, err, "the account's other key goes on")

			c.add(time.Minute)
			again, err := cli.RevokeKey(t.Context(), tt.by(key))
			require.NoError(t, err)
			assert.Equal(t, info, again, "the first revocation counts")
		})
	}
}

func TestRevokeKeyRefuses(t *testing.T) {
	t.Parallel()
	onBoth(t, testRevokeKeyRefuses)
}

func testRevokeKeyRefuses(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	key, err := l.CreateKey(t.Context(), "ann", "free")
	require.NoError(t, err)
	for name, keyOrID := range map[string]string{
		"empty": "", "unknown": "dfk_aaaaaaaaaa", "account": "ann",
		"wrong secret": key.ID + "_" + strings.Repeat("A", 43),
	} {
		_, err := l.RevokeKey(t.Context(), keyOrID)
		require.ErrorIs(t, err, ErrKeyNotFound, name)
	}
	_, err = l.Authenticate(t.Context(), key.Token)
	assert.NoError(t, err)
}

// Whatever the database said while a whole key was looked up, the operator read that
// there was no such key, and it stayed valid.
func TestRevokeKeyTellsWhatTheDatabaseSays(t *testing.T) {
	t.Parallel()
	onBoth(t, testRevokeKeyTellsWhatTheDatabaseSays)
}

func testRevokeKeyTellsWhatTheDatabaseSays(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	key, err := l.CreateKey(t.Context(), "ann", "pro")
	require.NoError(t, err)
	require.NoError(t, l.store.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.ExecContext(t.Context(), `ALTER TABLE keys RENAME COLUMN hash TO digest`)
		return err
	}))
	_, err = l.RevokeKey(t.Context(), key.Token)
	require.ErrorContains(t, err, "hash")
	assert.NotErrorIs(t, err, ErrKeyNotFound)
}

func TestListKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, testListKeys)
}

func testListKeys(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh)
	none, err := l.ListKeys(t.Context())
	require.NoError(t, err)
	assert.Empty(t, none)

	var want []KeyInfo
	for _, name := range []string{"ann", "ann", "bob"} {
		key, err := l.CreateKey(t.Context(), name, "pro")
		require.NoError(t, err)
		want = append(want, key.KeyInfo)
		c.add(time.Second)
	}
	want[1], err = l.RevokeKey(t.Context(), want[1].ID)
	require.NoError(t, err)
	got, err := l.ListKeys(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestKeysAreNotStored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir, at("2026-01-15T12:00:00Z"))
	key, err := l.CreateKey(t.Context(), "ann", "free")
	require.NoError(t, err)
	_, err = l.Authenticate(t.Context(), key.Token)
	require.NoError(t, err)

	searched := map[string]bool{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		assert.False(t, bytes.Contains(content, []byte(key.Token[len(key.ID)+1:])), e.Name())
		searched[e.Name()] = bytes.Contains(content, []byte(key.ID))
	}
	assert.True(t, searched["deepfaked.db-wal"], "the search would find the secret: it finds the id")
}

func TestKeysAreNotLogged(t *testing.T) {
	t.Parallel()
	onBoth(t, testKeysAreNotLogged)
}

func testKeysAreNotLogged(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	key, err := l.CreateKey(t.Context(), "ann", "free")
	require.NoError(t, err)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).InfoContext(t.Context(), "created", "key", key)
	assert.Contains(t, log.String(), key.ID)
	assert.NotContains(t, log.String(), key.Token)
}

func TestAPlanThatTheConfigurationLacks(t *testing.T) {
	t.Parallel()
	onBoth(t, testAPlanThatTheConfigurationLacks)
}

func testAPlanThatTheConfigurationLacks(t *testing.T, fresh database) {
	t.Helper()
	dir, c := fresh(t), at("2026-01-15T12:00:00Z")
	key, err := open(t, dir, c).CreateKey(t.Context(), "ann", "pro")
	require.NoError(t, err)
	_, err = open(t, dir, c, DefaultPlans()[0]).Authenticate(t.Context(), key.Token)
	require.ErrorContains(t, err, "the account ann has the plan pro, which the configuration does not define")
	assert.NotErrorIs(t, err, ErrUnauthorized)
}

func FuzzKeyID(f *testing.F) {
	_, token := newToken()
	f.Add(token)
	f.Add("")
	f.Add("dfk_")
	f.Add("dfk_aaaaaaaaaa")
	f.Add("dfk_aaaaaaaaaa_" + strings.Repeat("A", 43))
	f.Add("dfk_aaaaaaaaaa_" + strings.Repeat("é", 21) + "A")
	f.Fuzz(func(t *testing.T, token string) {
		id, ok := keyID(token)
		switch {
		case !ok && id != "":
			t.Fatalf("%q is refused and yet has the id %q", token, id)
		case ok && (len(token) != keyLen || !isKeyID(id) || !strings.HasPrefix(token, id+"_")):
			t.Fatalf("%q is taken for a key with the id %q", token, id)
		case ok && strings.ContainsAny(token, "'\"\\\x00 \n"):
			t.Fatalf("%q is taken for a key", token)
		}
	})
}
