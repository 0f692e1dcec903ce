package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, written as an integer or with a unit: "100MiB",
// "64 KiB", "1GB".
type Size int64

// Units of a Size. KiB is 1024 bytes and kB is 1000.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

// units are tried in this order: no suffix may hide a longer one.
var units = []struct {
	suffix string
	bytes  Size
}{
	{"KiB", KiB}, {"MiB", MiB}, {"GiB", GiB},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
	{"B", 1}, {"", 1},
}

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	word := strings.TrimSpace(string(text))
	for _, u := range units {
		number, ok := strings.CutSuffix(word, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/int64(u.bytes) {
			break
		}
		*s = Size(n) * u.bytes
		return nil
	}
	return fmt.Errorf("%q is not a size: write a whole number of bytes, or one with a unit such as 100MiB", word)
}

// MarshalText writes a size with the largest unit that divides it.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String is the form that UnmarshalText reads.
func (s Size) String() string {
	for _, u := range []struct {
		suffix string
		bytes  Size
	}{{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}} {
		if s != 0 && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
