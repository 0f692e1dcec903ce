package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/preprocess"
)

func signer(t testing.TB) *Signer {
	t.Helper()
	key, err := NewKey()
	require.NoError(t, err)
	s, err := NewSigner(key)
	require.NoError(t, err)
	return s
}

// signed is a report in JSON, as it is served.
func signed(t testing.TB, s *Signer) string {
	t.Helper()
	d := sample(preprocess.Image)
	require.NoError(t, d.Sign(s))
	text, err := json.Marshal(d)
	require.NoError(t, err)
	return string(text)
}

// What a report says holds its signature, and not how it is laid out.
func TestSignature(t *testing.T) {
	t.Parallel()
	s := signer(t)
	text := signed(t, s)
	var indented, reordered bytes.Buffer
	require.NoError(t, json.Indent(&indented, []byte(text), "", "   "))
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &fields))
	require.NoError(t, json.NewEncoder(&reordered).Encode(fields))
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"as it is":             {text, nil},
		"indented":             {indented.String(), nil},
		"in another order":     {reordered.String(), nil},
		"another verdict":      {strings.Replace(text, `"verdict":"real"`, `"verdict":"fake"`, 1), ErrForged},
		"a field more":         {strings.Replace(text, `{`, `{"extra":1,`, 1), ErrForged},
		"another file":         {strings.Replace(text, `"sha256":"ab`, `"sha256":"ac`, 1), ErrForged},
		"without signature":    {strings.Replace(text, `"signature"`, `"signatur"`, 1), ErrUnsigned},
		"with another's key":   {strings.Replace(text, s.public.text(), signer(t).public.text(), 1), ErrForged},
		"with a key of no one": {strings.Replace(text, s.public.text(), "AAAA", 1), ErrForged},
	} {
		require.True(t, name == "as it is" || c.text != text, name)
		doc, key, err := Verify([]byte(c.text))
		require.ErrorIs(t, err, c.want, name)
		if err == nil {
			assert.Equal(t, s.PublicKey(), key, name)
			assert.Equal(t, "det_01m8kfqgq2bj08m96q6xsk0070", doc.ID, name)
		}
	}
}

// Of a field that is there twice one reader shows the first and another the last.
func TestVerifyRefusesWhatIsNoReport(t *testing.T) {
	t.Parallel()
	text := signed(t, signer(t))
	for name, bad := range map[string]string{
		"nothing": "", "no JSON": "<html>", "a list": "[]", "an object": "{}", "two": text + text,
		"a field twice":        strings.Replace(text, `{`, `{"verdict":"fake",`, 1),
		"an unknown algorithm": strings.Replace(text, `"Ed25519"`, `"none"`, 1),
	} {
		_, _, err := Verify([]byte(bad))
		require.Error(t, err, name)
		assert.NotErrorIs(t, err, ErrForged, name)
	}
}

// A report that was signed again says the same: Ed25519 draws no lots.
func TestSignAgain(t *testing.T) {
	t.Parallel()
	s := signer(t)
	assert.Equal(t, signed(t, s), signed(t, s))
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := signer(t)
	back, err := ParsePublicKey(s.PublicKey().PEM())
	require.NoError(t, err)
	assert.Equal(t, s.PublicKey(), back)
	assert.Len(t, back.Fingerprint(), 64)
	rsa := "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf\n9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC9AIKjbJTWit+CqvjWYzvQwECAwEAAQ==\n-----END PUBLIC KEY-----\n"
	for name, text := range map[string]string{"nothing": "", "a private key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "another kind": rsa, "damaged": "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"} {
		_, err := ParsePublicKey([]byte(text))
		require.Error(t, err, name)
		_, err = NewSigner([]byte(text))
		require.Error(t, err, name)
	}
}

// FuzzVerify: whatever is verified can be laid out anew and is verified still.
func FuzzVerify(f *testing.F) {
	f.Add([]byte(signed(f, signer(f))))
	f.Add([]byte(`{"id":"x","signature":{"algorithm":"Ed25519","canonicalization":"RFC 8785","public_key":"","value":""}}`))
	f.Add([]byte(`{"id":"x","signature":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, key, err := Verify(text)
		if err != nil {
			return
		}
		var indented bytes.Buffer
		require.NoError(t, json.Indent(&indented, text, "", "\t"))
		again, same, err := Verify(indented.Bytes())
		require.NoError(t, err)
		assert.Equal(t, key, same)
		assert.Equal(t, doc, again)
	})
}
