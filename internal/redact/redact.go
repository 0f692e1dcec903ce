package redact

import "regexp"

// password is what stands between a name and a host, also where an option of
// another address holds them, encoded or not.
var password = regexp.MustCompile(`(?i)((?://|%2f%2f|[="\s]|^)[^/:@&?="\s]*(?::|%3a))[^/&"\s][^&"\s]*(@|%40)`)

// Text is a text in which addresses stand, without their passwords.
func Text(text string) string { return password.ReplaceAllString(text, "${1}xxxxx${2}") }

// Error is err, in whose words addresses stand, without their passwords.
func Error(err error) error {
	if err == nil {
		return nil
	}
	return &redacted{err}
}

type redacted struct{ err error }

// Error implements error.
func (r *redacted) Error() string { return Text(r.err.Error()) }

// Unwrap gives what was redacted.
func (r *redacted) Unwrap() error { return r.err }
