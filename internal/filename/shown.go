package filename

import (
	"cmp"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shown is a name for a person to read: in quotes, with escapes, where it is not UTF-8 or
// holds what is not printed. A line break would pass for the end of the name, and a
// control character would reach the terminal.
func Shown(name string) string {
	unprinted := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unprinted) {
		return strconv.Quote(name)
	}
	return name
}

// Told is an error for a person to read: the names of the files that it is about are
// Shown, and so is every line.
func Told(err error) string {
	about := names(err)
	// A name may be a part of another: the longest is looked for first.
	slices.SortFunc(about, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, name := range about {
		pairs = append(pairs, name, Shown(name))
	}
	lines := strings.Split(strings.NewReplacer(pairs...).Replace(err.Error()), "\n")
	for i, line := range lines {
		lines[i] = Shown(line)
	}
	return strings.Join(lines, "\n")
}

// names is what files err, and every error in it, are about.
func names(err error) (found []string) {
	switch e := any(err).(type) {
	case *fs.PathError:
		return append(names(e.Err), e.Path)
	case *os.LinkError:
		return append(names(e.Err), e.Old, e.New)
	case interface{ Unwrap() error }:
		return names(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			found = append(found, names(part)...)
		}
	}
	return found
}
