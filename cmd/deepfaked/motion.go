package main

import (
	"deepfaked/models"
	"deepfaked/preprocess"
)

// What models of motion are shown of a video: enough of its length, in frames in which
// a face of some size has as many pixels as such models look at.
const (
	stretches   = 4
	stretchSide = 640 // of the longer side, pixels
)

// withStretches has a decoder take stretches where a model of motion is among the cards;
// it costs a video memory and time. The error says which models of motion disagree.
func withStretches(l preprocess.Limits, cards []models.Card) (preprocess.Limits, error) {
	frames, err := models.StretchFrames(cards)
	if err != nil || frames == 0 {
		return l, err
	}
	l.Stretches, l.StretchFrames, l.StretchSide = stretches, frames, stretchSide
	return l, nil
}
