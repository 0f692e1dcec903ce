package help_test

import (
	"io"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/help"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// That help could not be printed, as on a full disk, passed for a mistake in the command line.
func TestPrint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		to   io.Writer
		want error
	}{"printed": {io.Discard, nil}, "unprinted": {full{}, syscall.ENOSPC}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parser, err := kong.New(&struct{}{}, kong.Writers(c.to, io.Discard), kong.Exit(func(int) {}), kong.Help(help.Print))
			require.NoError(t, err)
			_, err = parser.Parse([]string{"--help"})
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorAs(t, err, &help.UnprintedError{})
			assert.ErrorIs(t, err, c.want)
		})
	}
}
