package config

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// worded says which field has a value of the wrong type, and what it must be: the
// decoder names Go's types. Errors of another kind are returned as they are.
func worded(body ast.Node, err yaml.Error) error {
	want := wanted(err)
	var found nodes
	ast.Walk(&found, body)
	for _, node := range found {
		if want != "" && node != body && node.GetToken() == err.GetToken() {
			return at(node, fmt.Errorf("%s must be %s", place(node), want))
		}
	}
	return err
}

// nodes collects all of a document.
type nodes []ast.Node

// Visit implements ast.Visitor.
func (n *nodes) Visit(node ast.Node) ast.Visitor {
	*n = append(*n, node)
	return n
}

// wanted is what a value of the wrong type should have been; empty where the error
// is about something else.
func wanted(err yaml.Error) string {
	if group, ok := errors.AsType[*yaml.UnexpectedNodeTypeError](err); ok {
		if group.Expected == ast.SequenceType {
			return "a list such as [a, b]"
		}
		return "a group of fields"
	}
	if _, ok := errors.AsType[*yaml.OverflowError](err); ok {
		return "a number of at most 64 bits"
	}
	if value, ok := errors.AsType[*yaml.TypeError](err); ok {
		return described(value.DstType)
	}
	return ""
}

// described words a type of Config's fields.
func described(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration such as 30s"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.String:
		return "a text"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return "a whole number"
	}
	return ""
}
