package config

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/account"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A configuration that could not be written was said to have been, and an empty file is one of
// defaults.
func TestWriteSaysThatItCouldNot(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, Write(full{}, Default()), syscall.ENOSPC)
}

// TestWriteSaysWhatEachSettingIsFor: the file that an operator begins with had the
// settings alone, and what minimum_rate is or 0 sessions mean stood in the source.
func TestWriteSaysWhatEachSettingIsFor(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, Write(&out, Default()))
	clear, last := map[string]bool{"free": true, "starter": true, "pro": true, "requests_per_minute": true}, ""
	for line := range strings.Lines(out.String()) {
		name, _, setting := strings.Cut(strings.TrimSpace(line), ":")
		if setting && !strings.HasPrefix(name, "#") && !clear[name] {
			assert.True(t, strings.HasPrefix(last, "# ") && len(last) > len("# ")+4, "above %s stands %q", name, last)
		}
		if strings.Contains(line, "starter:") {
			break // of plans the first says it for all
		}
		last = strings.TrimSpace(line)
	}
	_, rest, _ := strings.Cut(out.String(), "\n  pro:")
	assert.Contains(t, rest, "# how long results and their reports are kept\nretention:\n")
	assert.Contains(t, rest, "\n# true keeps uploads")
}

// TestWriteSaysTheLeastOfEachSetting: what a setting must be at least stood in the refusal of a
// smaller one alone.
func TestWriteSaysTheLeastOfEachSetting(t *testing.T) {
	t.Parallel()
	said := regexp.MustCompile(`must be (?:at least|between) ([^ ,]+)`)
	seen := 0
	eachNumber(reflect.TypeFor[Config](), nil, func(f reflect.StructField, index []int) {
		c := Default()
		reflect.ValueOf(&c).Elem().FieldByIndex(index).SetInt(-1)
		err := c.Validate()
		require.Error(t, err, f.Name)
		found := said.FindStringSubmatch(err.Error())
		if found == nil || found[1] == "0" || found[1] == "0s" || found[1] == "1" {
			return // goes without saying
		}
		seen++
		least := "at least " + strings.TrimSuffix(found[1], "0s")
		if f.Name == "Burst" {
			least = "at least wait" // which is what it was told
		}
		assert.Contains(t, f.Tag.Get("comment"), least, f.Name)
	})
	assert.Equal(t, 13, seen)
}

// eachNumber calls with every number of the struct t that the file has, and its place.
func eachNumber(t reflect.Type, at []int, with func(reflect.StructField, []int)) {
	for f := range t.Fields() {
		index := append(slices.Clone(at), f.Index...)
		switch {
		case key(f) == "-" || f.Type == reflect.TypeFor[account.Plan]():
		case f.Type.Kind() == reflect.Struct:
			eachNumber(f.Type, index, with)
		case f.Type.Kind() == reflect.Int || f.Type.Kind() == reflect.Int64:
			with(f, index)
		}
	}
}

// TestLoadReadsWhatWriteWrites: also values that look like comments, or like other types.
func TestLoadReadsWhatWriteWrites(t *testing.T) {
	t.Parallel()
	c := Default()
	c.Data, c.Redis, c.ONNXRuntime = "a # b", "redis://:p:a#ss@h/0", "007"
	c.Models, c.Proxies, c.Inference.Devices = []string{"- x", "#y"}, []string{"10.0.0.0/8"}, []int{1, 2}
	c.Plans.Pro.Daily, c.Limits.Side, c.Upload.Size = 7, 999, 12345
	var out strings.Builder
	require.NoError(t, Write(&out, c))
	got, err := load(t, out.String())
	require.NoError(t, err)
	assert.Equal(t, c, got)
}

// TestLoadReadsStringsAsTheyWere: config printed a folder with a tab in its name, or one called
// .inf, as what --config took for another's name, and one that begins with "? " as what it refused.
func TestLoadReadsStringsAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"a\tb", "\t", "a\t", "a\rb", "a\r\nb", "a\nb", "\n", "\n\n", ".inf", "-.Inf", ".nan", "? x", "?", "---", "...", "~", "!x", "&x", "{a", "'", `a\b`, "\x00", "\u2028", "é", "😀",
	} {
		c := Default()
		c.Data, c.Models, c.Log.Format = value, []string{value, "x"}, value
		var out strings.Builder
		require.NoError(t, Write(&out, c))
		got, err := load(t, out.String())
		require.NoError(t, err, "%q", value)
		assert.Equal(t, []string{value, value, value, "x"}, []string{got.Data, got.Log.Format, got.Models[0], got.Models[1]})
	}
}

// TestWriteRefusesWhatIsNotUTF8: it was printed, and then refused by --config.
func TestWriteRefusesWhatIsNotUTF8(t *testing.T) {
	t.Parallel()
	c := Default()
	c.Models = []string{"x", "d\xe9"}
	var out strings.Builder
	require.ErrorContains(t, Write(&out, c), `"d\xe9" is not UTF-8`)
	assert.Empty(t, out.String())
}
