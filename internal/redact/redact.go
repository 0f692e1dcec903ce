package redact

import (
	"regexp"
	"slices"
	"strings"
)

// password is what stands between a name and a host, also where an option of
// another address holds them, encoded or not.
var password = regexp.MustCompile(`(?i)((?://|%2f%2f|[="\s]|^)[^/:@&?="\s]*(?::|%3a))[^/&"\s][^&"\s]*(@|%40)`)

// The options of an address, one of them, and what says that another stands in its value.
var (
	options = regexp.MustCompile(`\?[^\s"]*[^\s":]`)
	option  = regexp.MustCompile(`[?&][^=?&]*=[^&]*`)
	nested  = regexp.MustCompile(`(?i)[?;]|%3f|%3b`)
)

// harmless are the options that say where a bucket is and how it is asked, or what is asked of one.
// Any other may be a key, which somebody took for an option.
var harmless = strings.Fields(`
	accelerate access_id anonymous awssdk cdn create_dir disable_https domain dualstack endpoint fips grpc
	hostname_immutable kmskeyid localemu prefix private_key_path profile protocol rate_limiter_capacity region
	request_checksum_calculation response_checksum_validation role s3ForcePathStyle ssetype storage_account
	universe_domain use_path_style zonal
	comp delimiter list-type max-keys restype x-id`)

// Text is a text in which addresses stand, without their passwords, and without the values of
// options that may be keys.
func Text(text string) string {
	return options.ReplaceAllStringFunc(password.ReplaceAllString(text, "${1}xxxxx${2}"), func(found string) string {
		return option.ReplaceAllStringFunc(found, withoutKey)
	})
}

// withoutKey is an option such as ?region=x, without its value unless that is harmless.
func withoutKey(option string) string {
	name, value, _ := strings.Cut(option, "=")
	if slices.Contains(harmless, name[1:]) && !nested.MatchString(value) {
		return option
	}
	return name + "=xxxxx"
}

// Error is err, in whose words addresses stand, as Text has them.
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
