package config

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parse reads one YAML document over the defaults.
func parse(text []byte) (Config, error) {
	c := Default()
	if !utf8.Valid(text) { // U+FFFD would name another file
		return Config{}, errors.New("it must be UTF-8; names that are not can be given by flags and in the environment")
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // which some editors begin a file with
	tokens := lexer.Tokenize(string(text))
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return Config{}, err
	}
	// The parser loses those behind an empty one.
	if len(file.Docs) > 1 || countHeaders(tokens) > 1 {
		return Config{}, errors.New("there must be one YAML document in the file")
	}
	if len(file.Docs) == 0 || isNothing(file.Docs[0].Body) {
		return c, nil // the decoder would take it for a null, and null all fields
	}
	body := file.Docs[0].Body
	for _, field := range fieldsOf(body) {
		if isNothing(field.Value) {
			return Config{}, at(field.Key, fmt.Errorf("%s has no value", place(field)))
		}
	}
	if err := yaml.NodeToValue(body, &c, yaml.Strict()); err != nil {
		return Config{}, blame(body, err)
	}
	return c, validateNumbers(body)
}

// countHeaders counts the lines that begin documents: ---.
func countHeaders(tokens token.Tokens) (n int) {
	for _, t := range tokens {
		if t.Type == token.DocumentHeaderType {
			n++
		}
	}
	return n
}

// isNothing reports whether a node is absent, null or a comment.
func isNothing(node ast.Node) bool {
	return node == nil || node.Type() == ast.NullType || node.Type() == ast.CommentType
}

// fields collects the mapping's entries in the order of the document.
type fields []*ast.MappingValueNode

// Visit implements ast.Visitor.
func (f *fields) Visit(node ast.Node) ast.Visitor {
	if field, ok := node.(*ast.MappingValueNode); ok {
		*f = append(*f, field)
	}
	return f
}

func fieldsOf(body ast.Node) []*ast.MappingValueNode {
	var f fields
	ast.Walk(&f, body)
	return f
}

// blame adds the place to an error of the decoder that lacks it, as those about
// durations and sizes do: it is the first field that alone gives an error.
func blame(body ast.Node, err error) error {
	if placed, ok := errors.AsType[yaml.Error](err); ok && placed.GetToken() != nil {
		return worded(body, placed)
	}
	for _, field := range fieldsOf(body) {
		if _, ok := field.Value.(ast.ScalarNode); !ok {
			continue
		}
		if _, wrong := alone(place(field), field.Value.String()); wrong != nil {
			return at(field.Value, fmt.Errorf("%s: %w", place(field), err))
		}
	}
	return err
}

// at adds line and column, as the decoder writes them.
func at(node ast.Node, err error) error {
	position := node.GetToken().Position
	return fmt.Errorf("[%d:%d] %w", position.Line, position.Column, err)
}
