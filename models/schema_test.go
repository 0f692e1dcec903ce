package models

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compiled is the published schema, as a validator that is not ours reads it.
func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(CardSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("card.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("card.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func fits(t testing.TB, schema *jsonschema.Schema, card []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(card))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(doc)
}

func TestBuiltinCardsFitTheSchema(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	cards, err := fs.Glob(builtin, "builtin/*/"+CardFile)
	if err != nil || len(cards) == 0 {
		t.Fatal(cards, err)
	}
	for _, name := range cards {
		data, err := builtin.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := fits(t, schema, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatValidateAcceptsFitsTheSchema(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	for _, card := range []Card{validCard(), halved(), apart(), weighted(), speechCard(), faceCard(), surroundedCard(), motionCard(), finderCard(), hearerCard()} {
		data, err := json.Marshal(card)
		if err != nil {
			t.Fatal(err)
		}
		if err := fits(t, schema, data); err != nil {
			t.Errorf("%s: %v", card.Task, err)
		}
	}
}

// off are operating points of which one promises what is another's.
func off() OperatingPoints {
	points := maps.Clone(validCard().OperatingPoints)
	p := points["sensitive"]
	p.FalsePositiveRate = .05
	points["sensitive"] = p
	return points
}

func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	for name, spoil := range map[string]func(*Card){
		"schema":     func(c *Card) { c.Schema = 2 },
		"name":       func(c *Card) { c.Name = "Tiny" },
		"task":       func(c *Card) { c.Task = "weather" },
		"path":       func(c *Card) { c.File = "../model.onnx" },
		"card":       func(c *Card) { c.File = CardFile },
		"checksum":   func(c *Card) { c.SHA256 = "abcd" },
		"batch":      func(c *Card) { c.Input.Shape[0] = 1 },
		"type":       func(c *Card) { c.Output.Type = "uint8" },
		"calibrated": func(c *Card) { c.Calibration.Scale = 0 },
		"limits":     func(c *Card) { c.Calibration.Limits = &Pair{1, -1} },
		"level":      func(c *Card) { delete(c.OperatingPoints, "balanced") },
		"threshold":  func(c *Card) { setPoint(c, "strict", func(p *OperatingPoint) { p.Threshold = 2 }) },
		"no medium":  func(c *Card) { c.ByMedium = map[string]OperatingPoints{"smell": c.OperatingPoints} },
		"its level":  func(c *Card) { c.ByMedium = map[string]OperatingPoints{"video": {"strict": {}}} },
		"rate":       func(c *Card) { setPoint(c, "strict", func(p *OperatingPoint) { p.FalsePositiveRate = .05 }) },
		"its rate":   func(c *Card) { c.ByMedium = map[string]OperatingPoints{"video": off()} },
		"blank":      func(c *Card) { c.Licences.Weights = " \t" },
		"licence":    func(c *Card) { c.Licences.Weights = "" },
		"source":     func(c *Card) { c.Training.Sources[0].Licence = "" },
		"tolerance":  func(c *Card) { c.Golden.Tolerance = 0 },
		"detection":  func(c *Card) { c.Detection = finderCard().Detection },
		"a finder":   finder(func(c *Card, _ *Detection) { c.Detection = nil }),
		"surround":   surrounded(func(c *Card) { c.Preprocessing.Surround = 9 }),
		"frames":     motion(func(c *Card) { c.Preprocessing.Frames = 65 }),
		"a hearer":   hearer(func(c *Card, _ *Activity) { c.Activity = nil }),
		"its boxes":  hearer(func(c *Card, _ *Activity) { c.Detection = finderCard().Detection }),
		"its line":   hearer(func(_ *Card, a *Activity) { a.Threshold = 1 }),
		"activity":   func(c *Card) { c.Activity = hearerCard().Activity },
		"its levels": finder(func(c *Card, _ *Detection) { c.OperatingPoints = validCard().OperatingPoints }),
		"its media":  finder(func(c *Card, _ *Detection) { c.ByMedium = apart().ByMedium }),
		"its source": finder(func(c *Card, _ *Detection) { c.BySource = sourced().BySource }),
		"its AUC":    finder(func(c *Card, _ *Detection) { c.Measured = validCard().Measured }),
	} {
		card := validCard()
		spoil(&card)
		data, err := json.Marshal(card)
		if err != nil {
			t.Fatal(err)
		}
		if fits(t, schema, data) == nil {
			t.Errorf("%s: a card that Validate refuses fits the schema", name)
		}
	}
}

// TestLengthsAreOfCharacters: a version of 40 letters with accents fitted the schema, and was refused as
// having more than 64 characters.
func TestLengthsAreOfCharacters(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	for more, refused := range map[int]bool{0: false, 1: true} {
		for name, change := range map[string]func(*Card){
			"version":    func(c *Card) { c.Version = strings.Repeat("é", 64+more) },
			"input.name": func(c *Card) { c.Input.Name = strings.Repeat("é", 256+more) },
		} {
			card := validCard()
			change(&card)
			if err := card.Validate(); (err != nil) != refused {
				t.Errorf("%s, %d more: %v", name, more, err)
			}
			if err := fits(t, schema, encode(t, card)); (err != nil) != refused {
				t.Errorf("%s, %d more: the schema says %v", name, more, err)
			}
		}
	}
}

// TestSchemaHasTheFieldsOfTheCard: a field added to one and forgotten in the
// other is found here, at any depth.
func TestSchemaHasTheFieldsOfTheCard(t *testing.T) {
	t.Parallel()
	var root map[string]any
	if err := json.Unmarshal(CardSchema(), &root); err != nil {
		t.Fatal(err)
	}
	compareFields(t, "card", root, root, reflect.TypeFor[Card]())
}

func compareFields(t *testing.T, at string, root, schema map[string]any, typ reflect.Type) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	if ref, ok := schema["$ref"].(string); ok {
		schema = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		compareFields(t, at, root, schema, typ)
		return
	}
	switch typ.Kind() {
	case reflect.Pointer:
		compareFields(t, at, root, schema, typ.Elem())
	case reflect.Slice, reflect.Array, reflect.Map:
		for _, key := range []string{"items", "additionalProperties"} {
			if inner, ok := schema[key].(map[string]any); ok {
				compareFields(t, at+"[]", root, inner, typ.Elem())
				return
			}
		}
		t.Errorf("%s: the schema says nothing of its elements", at)
	case reflect.Struct:
		fields := map[string]reflect.Type{}
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields[name] = f.Type
		}
		if want, got := slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(properties)); !slices.Equal(want, got) {
			t.Errorf("%s: the card has %q, the schema %q", at, want, got)
			return
		}
		for name, inner := range fields {
			compareFields(t, at+"."+name, root, properties[name].(map[string]any), inner)
		}
	}
}

// A card whose threshold was missing or misspelt passed: it was read as 0, and
// every file was called fake at that level. Nothing that the schema requires
// may be left out.
func TestWhatTheSchemaRequiresIsRequired(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	for name, card := range map[string]Card{
		"picture": validCard(), "speech": speechCard(), "face": faceCard(), "motion": motionCard(), "finder": finderCard(), "borrowed": weighted(), "hearer": hearerCard(),
	} {
		var tree map[string]any
		if err := json.Unmarshal(encode(t, card), &tree); err != nil {
			t.Fatal(err)
		}
		left := 0
		withoutEach(name, tree, func(what string) {
			data, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			if fits(t, schema, data) == nil {
				return
			}
			left++
			if _, err := Parse(data); err == nil {
				t.Errorf("%s: a card without it passes", what)
			}
		})
		if left < 15 {
			t.Errorf("%s: only %d fields are required", name, left)
		}
	}
}

// withoutEach leaves out one field of a JSON tree after another.
func withoutEach(at string, tree any, look func(what string)) {
	switch node := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			value := node[key]
			delete(node, key)
			look(at + "." + key)
			node[key] = value
			withoutEach(at+"."+key, value, look)
		}
	case []any:
		for i, value := range node {
			withoutEach(at+"."+strconv.Itoa(i), value, look)
		}
	}
}
