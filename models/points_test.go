package models

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// apart is a card with lines of its own for videos.
func apart() Card {
	c := validCard()
	c.ByMedium = map[string]OperatingPoints{"video": {
		"strict":    {FalsePositiveRate: .01, FalsePositiveInterval: &Pair{.005, .02}, Threshold: .8, DetectionRate: new(.3), DetectionInterval: &Pair{.2, .4}},
		"balanced":  {FalsePositiveRate: .05, Threshold: .6, DetectionRate: new(.5), DetectionInterval: &Pair{.4, .6}},
		"sensitive": {FalsePositiveRate: .15, Threshold: .4, DetectionRate: new(.7), DetectionInterval: &Pair{.6, .8}},
	}}
	return c
}

func TestPointsOfAMedium(t *testing.T) {
	t.Parallel()
	card := apart()
	fusion := validFusion()
	fusion.ByMedium = card.ByMedium
	for _, points := range []func(string) OperatingPoints{card.PointsOf, fusion.PointsOf} {
		assert.InDelta(t, .6, points("video")["balanced"].Threshold, 0)
		assert.Equal(t, card.OperatingPoints, points("image"), "a medium that was not measured apart")
	}
}

func TestPointsOfAMediumAreChecked(t *testing.T) {
	t.Parallel()
	for field, spoil := range map[string]func(*Card){
		"smell":                    func(c *Card) { c.ByMedium["smell"] = c.ByMedium["video"] },
		"video.strict":             func(c *Card) { delete(c.ByMedium["video"], "strict") },
		"video":                    func(c *Card) { c.ByMedium["video"]["lax"] = OperatingPoint{} },
		"video.balanced.threshold": func(c *Card) { c.ByMedium["video"]["balanced"] = OperatingPoint{Threshold: .9} },
	} {
		card := apart()
		spoil(&card)
		var wrong *CardError
		if assert.ErrorAs(t, card.Validate(), &wrong, field) {
			assert.Equal(t, "operating_points_by_medium."+field, wrong.Field)
		}
	}
	finder := finderCard()
	finder.ByMedium = apart().ByMedium
	assert.ErrorContains(t, finder.Validate(), "operating_points_by_medium")
}
