//go:build gocv_specific_modules

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/internal/config"
	"deepfaked/internal/report"
	"deepfaked/internal/store"
)

// TestVerify: one sentence, and the exit code by which a script goes on or not.
func TestVerify(t *testing.T) {
	t.Parallel()
	private, err := report.NewKey()
	require.NoError(t, err)
	signer, err := report.NewSigner(private)
	require.NoError(t, err)
	sum := sha256.Sum256([]byte("a picture"))
	doc := &report.Document{ID: "det_1", Verdict: "real", Report: inference.Report{Assessment: inference.NoSignOfFake, SHA256: hex.EncodeToString(sum[:])}}
	plain, err := json.Marshal(doc)
	require.NoError(t, err)
	require.NoError(t, doc.Sign(signer))
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	other, err := report.NewKey()
	require.NoError(t, err)
	stranger, err := report.NewSigner(other)
	require.NoError(t, err)

	signed, unsigned, picture := write(t, "signed.json", text), write(t, "unsigned.json", plain), write(t, "picture.jpg", []byte("a picture"))
	forged := write(t, "forged.json", []byte(strings.Replace(string(text), `"real"`, `"fake"`, 1)))
	edited := write(t, "edited.jpg", []byte("another picture"))
	public, strange := write(t, "key.pem", signer.PublicKey().PEM()), write(t, "strange.pem", stranger.PublicKey().PEM())
	for name, c := range map[string]struct {
		args    []string
		code    int
		out     string
		warning bool
	}{
		"all":               {[]string{"--public-key", public, signed, picture}, exitOK, "is as the key of " + public + " signed it, and " + picture + " is the file that it is about, which was judged real (no_sign_of_fake).", false},
		"without a file":    {[]string{"--public-key", public, signed}, exitOK, "it is about the file with the SHA-256 " + doc.SHA256, false},
		"without a key":     {[]string{signed, picture}, exitOK, "is as the key that it names itself signed it, and " + picture, true},
		"another file":      {[]string{"--public-key", public, signed, edited}, exitFailed, "about another file than " + edited + ".", false},
		"another's key":     {[]string{"--public-key", strange, signed}, exitFailed, "is signed with another key than that of " + strange + ".", false},
		"forged":            {[]string{"--public-key", public, forged, picture}, exitFailed, "has been changed since it was signed.", false},
		"forged, no key":    {[]string{forged}, exitFailed, "has been changed since it was signed.", false},
		"not signed at all": {[]string{unsigned, picture}, exitFailed, "is not signed: anybody may have written it.", false},
	} {
		s := call(t, append([]string{"verify"}, c.args...)...)
		assert.Equal(t, c.code, s.code, name)
		assert.Contains(t, s.out, c.out, name)
		assert.Equal(t, 1, strings.Count(s.out, "\n"), name)
		assert.Equal(t, c.warning, strings.Contains(s.err, signer.PublicKey().Fingerprint()), "%s: %s", name, s.err)
	}
	call(t, "verify", picture).refused(t, exitFailed, "no report of a detection in JSON")
	call(t, "verify", signed, "/nonexistent").refused(t, exitFailed, "no such file")
	call(t, "verify", "--public-key", picture, signed).refused(t, exitFailed, "no public key in PEM")
}

// TestTheKeyOfReportsStays: with another key after each start no report of before could be told from a forged one.
func TestTheKeyOfReportsStays(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Data = t.TempDir()
	open := func() string {
		books, err := store.Open(t.Context(), cfg.Data, storeOptions(cfg))
		require.NoError(t, err)
		defer func() { require.NoError(t, books.Close()) }()
		signer, err := openSigner(t.Context(), cfg, books)
		require.NoError(t, err)
		return signer.PublicKey().Fingerprint()
	}
	first := open()
	assert.Equal(t, first, open())
	private, err := report.NewKey()
	require.NoError(t, err)
	own, err := report.NewSigner(private)
	require.NoError(t, err)
	cfg.ReportKey = write(t, "key.pem", private)
	assert.Equal(t, own.PublicKey().Fingerprint(), open())
	cfg.ReportKey = ""
	assert.Equal(t, first, open())
	_, err = readSigner(write(t, "no.pem", []byte("no key")))
	require.ErrorContains(t, err, "no private key in PEM")
	assert.NotContains(t, err.Error(), "no key\n")
}
