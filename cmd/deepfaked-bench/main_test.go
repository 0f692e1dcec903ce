package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// said is what the program came to.
type said struct {
	code     int
	out, err string
}

func call(ctx context.Context, args ...string) said {
	var out, err bytes.Buffer
	code := run(ctx, args, &out, &err)
	return said{code, out.String(), err.String()}
}

// understood reads the JSON of a run; fields that are not of it are errors.
func understood(t *testing.T, out string) (r report) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(out))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&r), out)
	require.False(t, decoder.More())
	for _, s := range r.Steps {
		sum := s.Successes + s.Failures + s.Unsent + s.Unfinished
		for _, n := range s.Errors {
			sum += n
		}
		assert.Equal(t, s.Requests, sum, "each request is counted once")
		assert.LessOrEqual(t, s.Goodput, s.Throughput)
	}
	return r
}

func TestCommandLine(t *testing.T) { //nolint:paralleltest // the environment is that of all
	t.Setenv("DEEPFAKED_KEY", "")
	file := picture(t)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no key":         {[]string{"--rate", "1", file}, "the API key must be set, with --key or DEEPFAKED_KEY"},
		"no file":        {[]string{"--key", "k", "--rate", "1"}, "expected \"<files> ...\""},
		"an absent file": {[]string{"--key", "k", "--rate", "1", "/nonexistent"}, "no such file"},
		"no load":        {[]string{"--key", "k", file}, "one of --rate, --ramp, --clients and --burst must be given"},
		"two loads":      {[]string{"--key", "k", "--rate", "1", "--clients", "2", file}, "can't be used together"},
		"an empty ramp":  {[]string{"--key", "k", "--ramp", "1,0", file}, "rates of a ramp must be positive"},
		"no limit":       {[]string{"--key", "k", "--rate", "1", "--limit", "0s", file}, "must be positive"},
		"a strange mix":  {[]string{"--key", "k", "--rate", "1", "--mix", "audio=1", file}, `names "audio"`},
		"no address":     {[]string{"--key", "k", "--rate", "1", "--url", "localhost:8080", file}, "must begin with http://"},
		"no process":     {[]string{"--key", "k", "--rate", "1", "--pid", "99999999", file}, "there is no process"},
		"nowhere":        {[]string{"--key", "k", "--rate", "1", "--json", "/nonexistent/x", file}, "no such file"},
		// That no file can be made in a folder for plots which is there was told after the measurement.
		"no place to draw": {[]string{"--key", "k", "--rate", "1", "--plots", "/proc", file}, "open /proc/"},
	} {
		s := call(t.Context(), c.args...)
		assert.Equal(t, exitUsage, s.code, name)
		assert.Contains(t, s.err, c.want, name)
		assert.True(t, strings.HasPrefix(s.err, "deepfaked-bench: "), name)
		assert.Empty(t, s.out, name)
	}
	s := call(t.Context(), "--help")
	assert.Zero(t, s.code)
	assert.Contains(t, s.out, "plans.pro.requests_per_minute")
}

// TestHelpThatCannotBePrinted: to a full disk it ended with 2, as a mistake in the command line
// does, and with advice to ask for help.
func TestHelpThatCannotBePrinted(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { _ = full.Close() }()
	var log bytes.Buffer
	assert.Equal(t, exitFailed, run(t.Context(), []string{"--help"}, full, &log))
	assert.Equal(t, "deepfaked-bench: write /dev/full: no space left on device\n", log.String())
}
