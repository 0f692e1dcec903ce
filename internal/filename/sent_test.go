package filename_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"deepfaked/internal/filename"
)

func TestSent(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                           "",
		"photo.jpg":                  "photo.jpg",
		"Ünïcode 照片.jpg":             "Ünïcode 照片.jpg",
		"/home/anna/photo.jpg":       "photo.jpg",
		`C:\fakepath\photo.jpg`:      "photo.jpg",
		"folder/":                    "",
		"a\x00b\nc.jpg":              "a\uFFFDb\uFFFDc.jpg",
		"\xff.jpg":                   "\uFFFD.jpg",
		"photo\u202egpj.exe":         "photo\uFFFDgpj.exe",
		"family 👨\u200d👩\u200d👧.png": "family 👨\u200d👩\u200d👧.png",
		strings.Repeat("ü", 255):     strings.Repeat("ü", 255),
		strings.Repeat("ü", 256):     strings.Repeat("ü", 254) + "…",
	} {
		assert.Equal(t, want, filename.Sent(name), "%q", name)
	}
}
