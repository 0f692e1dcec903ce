package models

import (
	"strings"
	"testing"
)

func TestStretchFrames(t *testing.T) {
	t.Parallel()
	motion := func(name string, frames int) Card {
		return Card{Name: name, Task: FaceMotion, Preprocessing: Preprocessing{Frames: frames}}
	}
	for name, c := range map[string]struct {
		cards []Card
		want  int
		words []string // of the error
	}{
		"none":     {[]Card{faceCard(), speechCard()}, 0, nil},
		"one":      {[]Card{faceCard(), motion("a", 30)}, 30, nil},
		"alike":    {[]Card{motion("a", 8), faceCard(), motion("b", 8)}, 8, nil},
		"disagree": {[]Card{motion("a", 8), faceCard(), motion("b", 9)}, 0, []string{"a", "over 8 frames", "b over 9"}},
	} {
		got, err := StretchFrames(c.cards)
		if got != c.want || (err != nil) != (c.words != nil) {
			t.Errorf("%s: %d frames, %v", name, got, err)
		}
		for _, w := range c.words {
			if err != nil && !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v does not say %q", name, err, w)
			}
		}
	}
}

// TestOnlyMotionIsOptional: of every other task a model is built in.
func TestOnlyMotionIsOptional(t *testing.T) {
	t.Parallel()
	builtin, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	has := map[Task]bool{}
	for _, m := range builtin {
		has[m.Card.Task] = true
	}
	for _, task := range Tasks() {
		if task.Optional() == has[task] {
			t.Errorf("%s: optional %v, built in %v", task, task.Optional(), has[task])
		}
	}
}
