// Package models holds what the service knows about a model without running
// it: the card that describes it, the check that its file is the one the card
// speaks of, and the models that are built into the binary.
package models
