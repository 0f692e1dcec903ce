package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
)

// Write writes c as a file that Load reads, with what each field is for above it.
func Write(to io.Writer, c Config) error {
	notes := comments{notes: yaml.CommentMap{}, told: map[reflect.Type]bool{}}
	notes.of(reflect.TypeFor[Config](), "$")
	var whole bytes.Buffer // the encoder does not say that it could not write
	if err := yaml.NewEncoder(&whole, yaml.WithComment(notes.notes), yaml.CustomMarshaler(scalar)).Encode(c); err != nil {
		return err
	}
	_, err := whole.WriteTo(to)
	return err
}

// scalar is a string as it stands in the file: as the encoder has it, or in quotes where that is
// read back as another, as one with a tab is, or .inf.
func scalar(value string) ([]byte, error) {
	if !utf8.ValidString(value) {
		return nil, fmt.Errorf("%q is not UTF-8, as a configuration must be: it can be given by a flag or in the environment", value)
	}
	plain, err := yaml.Marshal(value)
	if err != nil {
		return nil, err
	}
	var read string
	if strings.ContainsFunc(value, unicode.IsControl) || yaml.Unmarshal(plain, &read) != nil || read != value {
		return json.Marshal(value)
	}
	return plain, nil
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
