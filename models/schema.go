package models

import (
	"bytes"
	_ "embed" // the schema
)

//go:embed card.schema.json
var cardSchema []byte

// CardSchema is the JSON Schema (draft 2020-12) of card.json. A card that
// Validate accepts fits it; a few rules are beyond a schema, and it says which.
// The caller may write to the slice.
func CardSchema() []byte { return bytes.Clone(cardSchema) }
