package help

import "github.com/alecthomas/kong"

// UnprintedError is that help could not be printed, which is no mistake in the command line.
type UnprintedError struct{ error }

// Unwrap returns why.
func (e UnprintedError) Unwrap() error { return e.error }

// Print is kong's, with an error of its own.
func Print(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return UnprintedError{err}
	}
	return nil
}
