package models

import "fmt"

// CardError says which field of a model's card is wrong, and why.
type CardError struct {
	Field  string // as it is spelt in card.json, with dots between levels
	Reason string // what is wrong with it and what is expected
}

// Error returns a sentence for the person who wrote the card.
func (e *CardError) Error() string {
	return CardFile + ": field " + e.Field + ": " + e.Reason
}

// wrong makes a CardError for field.
func wrong(field, format string, args ...any) error {
	return &CardError{Field: field, Reason: fmt.Sprintf(format, args...)}
}
