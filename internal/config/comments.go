package config

import (
	"bytes"
	"io"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
)

// Write writes c as a file that Load reads, with what each field is for above it.
func Write(to io.Writer, c Config) error {
	notes := comments{notes: yaml.CommentMap{}, told: map[reflect.Type]bool{}}
	notes.of(reflect.TypeFor[Config](), "$")
	var whole bytes.Buffer // the encoder does not say that it could not write
	if err := yaml.NewEncoder(&whole, yaml.WithComment(notes.notes)).Encode(c); err != nil {
		return err
	}
	_, err := whole.WriteTo(to)
	return err
}

// comments are collected from the fields' tags. What a type says of its fields is said
// once: plans are three of one type.
type comments struct {
	notes yaml.CommentMap
	told  map[reflect.Type]bool
}

// of collects those of the struct t, which is at a path of the file.
func (c comments) of(t reflect.Type, path string) {
	if c.told[t] {
		return
	}
	c.told[t] = true
	for f := range t.Fields() {
		at := path + "." + key(f)
		if note := f.Tag.Get("comment"); note != "" {
			c.notes[at] = []*yaml.Comment{yaml.HeadComment(" " + note)}
		}
		if f.Type.Kind() == reflect.Struct {
			c.of(f.Type, at)
		}
	}
}

// key is the name that a field has in the file.
func key(f reflect.StructField) string {
	if name := f.Tag.Get("yaml"); name != "" {
		return name
	}
	return strings.ToLower(f.Name)
}
