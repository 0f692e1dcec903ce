package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"log/slog"
	"strings"
	"time"
)

// A key is "dfk_", ten characters that name it, "_" and 43 characters of
// base64url: 32 random bytes. The part before the second "_" is its id, which
// is public: it says which key is meant in lists and in logs.
const (
	keyPrefix    = "dfk_"
	keyIDLen     = len(keyPrefix) + 10
	keySecretLen = 43
	keyLen       = keyIDLen + 1 + keySecretLen
)

// KeyInfo is what may be known of a key after it was created.
type KeyInfo struct {
	ID      string // public
	Account string // its name
	Plan    string
	Created time.Time
	Revoked time.Time // zero while the key is valid
}

// Key is a new key. Token is shown once: only its hash is stored.
type Key struct {
	KeyInfo
	Token string
}

// LogValue keeps the token out of logs.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.ID) }

// newToken makes a key's id and the whole key.
func newToken() (id, token string) {
	name, secret := make([]byte, 10), make([]byte, 32)
	// crypto/rand never fails: it ends the process rather than go on without
	// randomness.
	_, _ = rand.Read(name)
	_, _ = rand.Read(secret)
	id = keyPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(name))[:10]
	return id, id + "_" + base64.RawURLEncoding.EncodeToString(secret)
}

// keyID finds the id in a key, and reports whether the key is well formed.
func keyID(token string) (string, bool) {
	if len(token) != keyLen || token[keyIDLen] != '_' || !isKeyID(token[:keyIDLen]) {
		return "", false
	}
	for _, c := range []byte(token[keyIDLen+1:]) {
		if !isBase64URL(c) {
			return "", false
		}
	}
	return token[:keyIDLen], true
}

// isKeyID reports whether s has the form of a key's id.
func isKeyID(s string) bool {
	rest, ok := strings.CutPrefix(s, keyPrefix)
	if !ok || len(s) != keyIDLen {
		return false
	}
	for _, c := range []byte(rest) {
		if (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

func isBase64URL(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// hash is what is stored of a key. A plain SHA-256 is enough: the slow hashes
// for passwords make guessing dear, and nobody guesses 256 random bits.
func hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
