package filename_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"

	"deepfaked/internal/filename"
)

// TestToldOfSeveralNames: of the names that an error holds only the first one of an
// fs.PathError was quoted. The line breaks in all others, as of a link or of joined
// errors, were printed raw and passed for the end of the name.
func TestToldOfSeveralNames(t *testing.T) {
	t.Parallel()
	about := func(path string) error { return &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist} }
	link := &os.LinkError{Op: "rename", Old: "a\nb", New: "/x/a\nb", Err: fs.ErrExist}
	for want, err := range map[string]error{
		`open "a\nb": file does not exist`:                                         about("a\nb"),
		`open é: file does not exist`:                                              about("é"),
		`rename "a\nb" "/x/a\nb": file already exists`:                             link,
		`move: rename "a\nb" "/x/a\nb": file already exists`:                       fmt.Errorf("move: %w", link),
		"open \"a\\nb\": file does not exist\nopen \"c\\nd\": file does not exist": errors.Join(about("a\nb"), about("c\nd")),
		`open "\xc3": file does not exist, open é: file does not exist`:            fmt.Errorf("%w, %w", about("\xc3"), about("é")),
		`models folder "a\nb": open "a\nb/c": file does not exist`:                 &fs.PathError{Op: "models folder", Path: "a\nb", Err: about("a\nb/c")},
		`open : file does not exist`:                                               about(""),
		`nothing`:                                                                  errors.New("nothing"),
	} {
		assert.Equal(t, want, filename.Told(err))
	}
}
