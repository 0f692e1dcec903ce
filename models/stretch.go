package models

import "fmt"

// StretchFrames is how many consecutive frames the models of motion among the cards
// are shown at a time, 0 where there is none. All must be shown as many, as a file is
// decoded once for all of them: the error names two that are not.
func StretchFrames(cards []Card) (int, error) {
	var first *Card
	for i, c := range cards {
		switch {
		case c.Task != FaceMotion:
		case first == nil:
			first = &cards[i]
		case c.Preprocessing.Frames != first.Preprocessing.Frames:
			return 0, fmt.Errorf("the model %s judges motion over %d frames and %s over %d: they must agree, so take one of them away",
				first.Name, first.Preprocessing.Frames, c.Name, c.Preprocessing.Frames)
		}
	}
	if first == nil {
		return 0, nil
	}
	return first.Preprocessing.Frames, nil
}
