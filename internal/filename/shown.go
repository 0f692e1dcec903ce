package filename

import (
	"errors"
	"io/fs"
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

// Told is an error for a person to read: the name of the file that it is about is Shown,
// and so is every line.
func Told(err error) string {
	text := err.Error()
	if about, ok := errors.AsType[*fs.PathError](err); ok {
		text = strings.ReplaceAll(text, about.Path, Shown(about.Path))
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Shown(line)
	}
	return strings.Join(lines, "\n")
}
