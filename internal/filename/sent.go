package filename

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestSent is how much of a name is kept, in characters.
const longestSent = 255

// Sent is a name that a client has sent for a file, fit to be kept and shown: without folders, in UTF-8, with
// U+FFFD for what is not printed, such as marks that turn the direction of writing around, and cut where it is too long.
func Sent(name string) string {
	name = strings.ToValidUTF8(name[strings.LastIndexAny(name, `/\`)+1:], string(utf8.RuneError))
	const joiner, nonJoiner = '\u200d', '\u200c' // of emoji and of Persian, among others
	name = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == joiner || r == nonJoiner {
			return r
		}
		return utf8.RuneError
	}, name)
	if all := []rune(name); len(all) > longestSent {
		name = string(all[:longestSent-1]) + "…"
	}
	return name
}
