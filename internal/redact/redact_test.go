package redact

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ //nolint:gosec // nobody's passwords
		"s3://uploads?region=us-east-1":                                "s3://uploads?region=us-east-1",
		"s3://b?endpoint=http://127.0.0.1:7070&use_path_style=true":    "s3://b?endpoint=http://127.0.0.1:7070&use_path_style=true",
		"s3://b?endpoint=http://u@host:1":                              "s3://b?endpoint=http://u@host:1",
		"minio://u:secret@host/b":                                      "minio://u:xxxxx@host/b",
		"s3://b?endpoint=http://u:secret@host:1&region=x":              "s3://b?endpoint=http://u:xxxxx@host:1&region=x",
		"s3://b?region=x&endpoint=http://u:se/cr@et@host":              "s3://b?region=x&endpoint=http://u:xxxxx@host",
		"s3://b?endpoint=http://:secret@host":                          "s3://b?endpoint=http://:xxxxx@host",
		"s3://b?endpoint=u:secret@host":                                "s3://b?endpoint=u:xxxxx@host",
		"open s3://b?endpoint=http%3A%2F%2Fu%3Ase%2540cret%40host&x=y": "open s3://b?endpoint=http%3A%2F%2Fu%3Axxxxx%40host&x=xxxxx",
		"s3://b?endpoint=http%3a%2f%2fu%3asecret%40host":               "s3://b?endpoint=http%3a%2f%2fu%3axxxxx%40host",
		`Put "http://u:secret@host/b/x": dial tcp 10.0.0.1:80`:         `Put "http://u:xxxxx@host/b/x": dial tcp 10.0.0.1:80`,
		`parse "u:secret@host": no`:                                    `parse "u:xxxxx@host": no`,
	} {
		assert.Equal(t, want, Text(text))
	}
}

// An option that no client of buckets has, such as a key that belongs into the environment, stood as it
// was in the error with which the service did not start.
func TestTextWithKeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ //nolint:gosec // nobody's keys
		"s3://b?accesskey=sec/ret+==&region=x":              "s3://b?accesskey=xxxxx&region=x",
		"open s3://b?region=x&secret=a: no such option":     "open s3://b?region=x&secret=xxxxx: no such option",
		`"azblob://c?sas=?sv=1&sig=secret%3D" is wrong`:     `"azblob://c?sas=xxxxx&sig=xxxxx" is wrong`,
		"s3://b?endpoint=http://h?key=secret&fips=true":     "s3://b?endpoint=xxxxx&fips=true",
		"s3://b?endpoint=http%3A%2F%2Fh%3Fkey%3Dsecret":     "s3://b?endpoint=xxxxx",
		"s3://b?region=x;key=secret":                        "s3://b?region=xxxxx",
		"b?Region=secret":                                   "b?Region=xxxxx",
		"s3://b?endpoint=http://u:secret@host&key=u:secret": "s3://b?endpoint=http://u:xxxxx@host&key=xxxxx",
		`Get "http://h/b?list-type=2&X-Amz-Signature=abc"`:  `Get "http://h/b?list-type=2&X-Amz-Signature=xxxxx"`,
		"is it there? No: x=y":                              "is it there? No: x=y",
	} {
		assert.Equal(t, want, Text(text))
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	assert.NoError(t, Error(nil))
	err := Error(&fs.PathError{Op: "open", Path: "x://u:secret@host", Err: fs.ErrNotExist})
	assert.EqualError(t, err, "open x://u:xxxxx@host: file does not exist")
	assert.True(t, errors.Is(err, fs.ErrNotExist))
}
