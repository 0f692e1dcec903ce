package filename_test

import (
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/filename"
)

// TestVerbatim: $'b\xe9.jpg', which is there, could not be judged, and with --data $'d\xe9'
// the database was made in another folder, with U+FFFD in its name. All else of a string
// is as kong has it.
func TestVerbatim(t *testing.T) {
	t.Setenv("FOLDER", "e\xe9")
	type level string
	var c struct {
		Data   *string  `short:"d"`
		Folder string   `env:"FOLDER"`
		Level  level    `enum:"low,high" default:"low"`
		Lists  []string `sep:"none"`
		Offset int
		Files  []string `arg:"" optional:""`
	}
	parser, err := kong.New(&c, filename.Verbatim())
	require.NoError(t, err)
	_, err = parser.Parse([]string{"--data", "d\xe9", "--lists=a\xe9:b", "--lists", "c", "--offset=-1", "--", "b\xe9.jpg", "-\xff"})
	require.NoError(t, err)
	assert.Equal(t, "d\xe9", *c.Data)
	assert.Equal(t, "e\xe9", c.Folder)
	assert.Equal(t, level("low"), c.Level)
	assert.Equal(t, []string{"a\xe9:b", "c"}, c.Lists)
	assert.Equal(t, -1, c.Offset)
	assert.Equal(t, []string{"b\xe9.jpg", "-\xff"}, c.Files)
	for _, wrong := range [][]string{{"--level", "middle"}, {"--data"}, {"--data", "--level", "low"}, {"-d"}} {
		_, err := parser.Parse(wrong)
		assert.Error(t, err, wrong)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil, "a": {"a"}, "a:b": {"a", "b"}, "a:": {"a"}, "a::b": {"a", "", "b"}, "a\xe9:\xffb": {"a\xe9", "\xffb"},
		`C\:D:e`: {"C:D", "e"}, `a\b`: {`a\b`}, `a\`: {`a\`}, `é\:`: {"é:"},
	} {
		assert.Equal(t, want, filename.List(text), text)
		if text != "a\xe9:\xffb" {
			assert.Equal(t, want, kong.SplitEscaped(text, ':'), text)
		}
	}
}
