package inference

import (
	"errors"
	"testing"

	"deepfaked/preprocess"
)

// Where more came than can be judged, a tenth of what a refused upload cost was a file
// in memory that nobody read.
func TestDetectOpensNoFileItRefuses(t *testing.T) {
	t.Parallel()
	d := newTestDetector(t, media(preprocess.Image, []preprocess.Frame{grey(1, 0)}, nil), noFaces)
	refused, file := errors.New("no room"), uploaded("\x89PNG\r\n\x1a\n")
	req := Request{File: file, Size: 8, Admitted: func() error { return refused }}
	if _, err := d.Detect(t.Context(), req); !errors.Is(err, refused) || file.opened {
		t.Errorf("opened %v, %v", file.opened, err)
	}
	req.Admitted = nil
	if _, err := d.Detect(t.Context(), req); err != nil || !file.opened {
		t.Errorf("once it is let in: opened %v, %v", file.opened, err)
	}
}

// A file of no format was refused after its place in the books had been taken, so
// that five texts used up the day of a photo; so did pictures that were declared as sound.
func TestDetectAdmitsNoFileThatItsBeginningRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		content  string
		declared preprocess.Kind
		admitted bool
	}{
		{"just some words", "", false}, {"", "", false},
		{"\x89PNG\r\n\x1a\n", "", true}, {"\x89PNG\r\n\x1a\n", preprocess.Image, true}, {"\x89PNG\r\n\x1a\n", preprocess.Audio, false},
	} {
		d := newTestDetector(t, media(preprocess.Image, []preprocess.Frame{grey(1, 0)}, nil), noFaces)
		file, told := uploaded(c.content), false
		_, err := d.Detect(t.Context(), Request{
			File: file, Size: int64(len(c.content)), Declared: c.declared, Admitted: func() error { told = true; return nil },
		})
		var fault *preprocess.Error
		if told != c.admitted || file.opened != c.admitted || errors.As(err, &fault) == c.admitted {
			t.Errorf("%q declared %q: admitted %v, opened %v, %v", c.content, c.declared, told, file.opened, err)
		}
	}
}
