package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"deepfaked/internal/filename"
	"deepfaked/internal/help"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// usageError is a wrong command line.
type usageError struct{ error }

// Unwrap returns what is wrong.
func (e usageError) Unwrap() error { return e.error }

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, code, done := parse(args, stdout, stderr)
	if done {
		return code
	}
	err := c.run(ctx, stdout, stderr)
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintln(stderr, "deepfaked-bench:", filename.Told(err))
	if errors.As(err, &usageError{}) {
		return exitUsage
	}
	return exitFailed
}

// parse reads the command line. done says that help or an error was printed and
// the program ends with code.
func parse(args []string, stdout, stderr io.Writer) (c *cli, code int, done bool) {
	c = &cli{}
	exited := -1
	parser, err := kong.New(c, kong.Name("deepfaked-bench"), kong.Description(description), kong.Writers(stdout, stderr),
		filename.Verbatim(), kong.Exit(func(code int) { exited = code }), kong.Help(help.Print), kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 100}))
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "deepfaked-bench:", err)
		return nil, exitFailed, true
	}
	_, err = parser.Parse(args)
	switch {
	case exited >= 0:
		return nil, exited, true
	case errors.As(err, &help.UnprintedError{}):
		_, _ = fmt.Fprintln(stderr, "deepfaked-bench:", err)
		return nil, exitFailed, true
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "deepfaked-bench: %s; see deepfaked-bench --help\n", filename.Shown(err.Error()))
		return nil, exitUsage, true
	}
	return c, 0, false
}
