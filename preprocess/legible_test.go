package preprocess_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"deepfaked/preprocess"
)

// TestWhatAChildSaysIsLegible: a file that takes its decoder over has it say what it likes, and that went as it was to the
// terminal of `deepfaked detect`, which obeyed it, to the log, and to clients: escape sequences, also of one
// character, the order of writing turned round, lines begun anew, and zero bytes, which PostgreSQL refuses.
func TestWhatAChildSaysIsLegible(t *testing.T) {
	t.Parallel()
	for mode, seen := range map[string]string{
		"says-last-words": "a line  \ufffd[31m\ufffd2J\ufffdtxt.exe\ufffd",
		"says-cause":      "a line  \ufffd[31m\ufffd2J\ufffdtxt.exe\ufffd",
		"says-leaving":    "gives up: a line  \ufffd[31m\ufffd2J\ufffdtxt.exe\ufffd",
		"says-message":    "unfit",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			opts := poolOptions(t, mode)
			_, err := decodeBytes(t, newPool(t, opts), tinyPNG(t), "")
			e := new(preprocess.Error)
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			if !strings.Contains(e.Err.Error(), seen) {
				t.Errorf("got %q, want %q in it", e.Err, seen)
			}
			for _, text := range []string{err.Error(), e.Message, e.Err.Error()} {
				if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("not to be shown: %q", text)
				}
			}
		})
	}
}
