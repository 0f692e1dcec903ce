package models

import (
	"bytes"
	_ "embed" // the schema
)

//go:embed card.schema.json
var cardSchema []byte

// CardSchema is the JSON Schema (draft 2020-12) of card.json. A few rules of Validate are beyond
// a schema, and it says which. It is stricter than Parse where a field says nothing: one that is
// null, a 0 where it may be left out, or of no use to the task; and about upper and lower case.
// The caller may write to the slice.
func CardSchema() []byte { return bytes.Clone(cardSchema) }
