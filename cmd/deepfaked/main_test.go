package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"deepfaked/internal/postgrestest"
)

// TestMain makes the test binary the program itself where it is started with
// one of its commands, as the server starts its decoder children.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		if _, err := os.Stat(noDecoders(os.Getppid())); err == nil && os.Args[1] == "decode" {
			os.Exit(1)
		}
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	// Nearly all tests ask what becomes of a file, not how well it is judged: the quick picture model saves them minutes.
	// Those of the other name a quality.
	if err := os.Setenv("DEEPFAKED_QUALITY", qualityFast); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		postgrestest.Stop()
		os.Exit(code)
	}))
}

// noDecoders is a file as long as which is there no decoder of a process starts.
func noDecoders(parent int) string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("deepfaked-test-%d-no-decoders", parent))
}

// said is what a command came to.
type said struct {
	code     int
	out, err string
}

// call runs the program to its end.
func call(t testing.TB, args ...string) said {
	t.Helper()
	var out, err bytes.Buffer
	code := run(t.Context(), args, &out, &err)
	return said{code, out.String(), err.String()}
}

// ok fails the test unless the command succeeded, and returns what it printed.
func (s said) ok(t testing.TB) string {
	t.Helper()
	require.Zero(t, s.code, s.err)
	require.Empty(t, s.err)
	return s.out
}

// refused checks the exit code and that standard error says why, in the given
// words; an excerpt of a configuration may follow.
func (s said) refused(t testing.TB, code int, words ...string) {
	t.Helper()
	assert.Equal(t, code, s.code, s.err)
	assert.True(t, strings.HasPrefix(s.err, "deepfaked: "), s.err)
	for _, w := range words {
		assert.Contains(t, s.err, w)
	}
}

// write makes a file in a folder of the test.
func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}
