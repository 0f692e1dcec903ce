package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"
)

// versionFlag is kong's, but that it says when it can't print.
type versionFlag bool

// BeforeReset prints the version and ends the program. Kong calls it.
func (versionFlag) BeforeReset(app *kong.Kong, vars kong.Vars) error { //nolint:unparam // kong wants an error
	if _, err := fmt.Fprintln(app.Stdout, vars["version"]); err != nil {
		_, _ = fmt.Fprintln(app.Stderr, "deepfaked:", err)
		app.Exit(exitFailed)
		return nil
	}
	app.Exit(exitOK)
	return nil
}

// versionText says what this binary was built from: the revision, as git's short form, and Go.
func versionText() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	return described(set["vcs.revision"], set["vcs.time"], set["vcs.modified"] == "true", info.GoVersion)
}

// described is such a line; revision and time are empty where it was built without git.
func described(revision, when string, modified bool, goVersion string) string {
	const short = 7
	name := cmp.Or(revision[:min(len(revision), short)], "unknown")
	if modified {
		name += " with changes"
	}
	if when != "" {
		day, _, _ := strings.Cut(when, "T")
		goVersion = day + ", " + goVersion
	}
	return fmt.Sprintf("deepfaked %s (%s)", name, goVersion)
}
