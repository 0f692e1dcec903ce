package models

import (
	"encoding/json"
	"reflect"
)

// Pair is two numbers of a card or a fusion: an interval, or limits.
type Pair [2]float64

// UnmarshalJSON takes two numbers, no more and no fewer: as an array of Go they would
// be filled up with zeros, or cut, without a word.
func (p *Pair) UnmarshalJSON(data []byte) error {
	var read []*float64 // nil where JSON says null
	if err := json.Unmarshal(data, &read); err != nil || len(read) != len(p) || read[0] == nil || read[1] == nil {
		return &json.UnmarshalTypeError{Value: "value", Type: reflect.TypeFor[Pair]()}
	}
	p[0], p[1] = *read[0], *read[1]
	return nil
}
