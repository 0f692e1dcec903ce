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

// streams are where a command writes: results to out, everything else to err.
type streams struct{ out, err io.Writer }

// command is one subcommand.
type command interface {
	run(ctx context.Context, to streams) error
}

// errQuiet ends the program with code 1 where everything has been said already.
var errQuiet = errors.New("")

// usageError is a wrong command line.
type usageError struct{ error }

// Unwrap returns what is wrong.
func (e usageError) Unwrap() error { return e.error }

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	to := streams{out: stdout, err: stderr}
	chosen, code, done := parse(args, to)
	if done {
		return code
	}
	err := chosen.run(ctx, to)
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		_, _ = fmt.Fprintln(stderr, "deepfaked:", filename.Told(err))
		return exitUsage
	case !errors.Is(err, errQuiet):
		_, _ = fmt.Fprintln(stderr, "deepfaked:", filename.Told(err))
	}
	return exitFailed
}

// parse finds the subcommand. done says that help or an error was printed and
// the program ends with code.
func parse(args []string, to streams) (chosen command, code int, done bool) {
	cli := &cli{}
	exited := -1
	parser, err := kong.New(cli, kong.Name("deepfaked"), kong.Description(description), kong.Vars(defaults()), filename.Verbatim(),
		kong.Writers(to.out, to.err), kong.Exit(func(code int) { exited = code }), kong.Help(help.Print), kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		_, _ = fmt.Fprintln(to.err, "deepfaked:", err)
		return nil, exitFailed, true
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	switch {
	case exited >= 0:
		return nil, exited, true
	case errors.As(err, &help.UnprintedError{}):
		_, _ = fmt.Fprintln(to.err, "deepfaked:", err)
		return nil, exitFailed, true
	case err != nil:
		_, _ = fmt.Fprintf(to.err, "deepfaked: %s; see %s --help\n", filename.Shown(err.Error()), reached(err))
		return nil, exitUsage, true
	}
	return parsed.Selected().Target.Addr().Interface().(command), 0, false
}

// reached is the command whose help explains an error of parsing.
func reached(err error) string {
	var wrong *kong.ParseError
	if !errors.As(err, &wrong) || wrong.Context.Selected() == nil {
		return "deepfaked"
	}
	return "deepfaked " + wrong.Context.Selected().Path()
}
