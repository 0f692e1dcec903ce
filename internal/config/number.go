package config

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// zeroLed is a number that YAML 1.1 reads as an octal one, and people do not.
var zeroLed = regexp.MustCompile(`^[-+]?0[0-9_]+$`)

// numbers collects the numbers of a document, and what may become one though it
// stands in quotes.
type numbers []ast.Node

// Visit implements ast.Visitor.
func (n *numbers) Visit(node ast.Node) ast.Visitor {
	switch node.Type() {
	case ast.IntegerType, ast.FloatType, ast.StringType:
		*n = append(*n, node)
	}
	return n
}

// validateNumbers refuses the numbers of a document, which the decoder has taken,
// that it takes for others than they seem.
func validateNumbers(body ast.Node) error {
	var found numbers
	ast.Walk(&found, body)
	for _, node := range found {
		text := node.GetToken().Value
		switch {
		case node.Type() != ast.StringType && zeroLed.MatchString(text):
			return at(node, fmt.Errorf("%s is %s, and must be written without the zero in front, which can make it an octal number", place(node), text))
		case isCutOff(node, text):
			return at(node, fmt.Errorf("%s is %s, and must be a whole number", place(node), text))
		}
	}
	return nil
}

// isCutOff reports whether the number has a fraction that its field does not take:
// the decoder leaves it out without a word.
func isCutOff(node ast.Node, text string) bool {
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil || n == math.Trunc(n) || math.IsNaN(n) {
		return false
	}
	with, errWith := alone(place(node), text)
	without, errWithout := alone(place(node), strconv.FormatInt(int64(n), 10))
	return errWith == nil && errWithout == nil && reflect.DeepEqual(with, without)
}

// place is the path of a node, such as inference.devices[0].
func place(node ast.Node) string { return strings.TrimPrefix(node.GetPath(), "$.") }

// alone reads one value over the defaults.
func alone(place, value string) (Config, error) {
	for _, step := range slices.Backward(strings.Split(place, ".")) {
		name, _, element := strings.Cut(step, "[")
		if element {
			value = "[" + value + "]"
		}
		value = "{" + name + ": " + value + "}"
	}
	c := Default()
	err := yaml.Unmarshal([]byte(value), &c)
	return c, err
}
