package models

import (
	"slices"
	"strconv"
)

// checkBySource says what is wrong with the figures of single generators and sources.
func checkBySource(c *Card) error {
	for i, s := range c.BySource {
		field := "by_source." + strconv.Itoa(i)
		switch {
		case blank(s.Name):
			return wrong(field+".name", "must not be empty")
		case s.Label != "real" && s.Label != "fake":
			return wrong(field+".label", "is %q, it must be real or fake", s.Label)
		case s.Items < 1:
			return wrong(field+".items", "is %d, it must be positive", s.Items)
		case len(s.Balanced) < 1 || len(s.Balanced) > 2:
			return wrong(field+".balanced", "has %d shares, it must be one or two: of clean files, and of those that were shared", len(s.Balanced))
		case len(s.Sensitive) > 2:
			return wrong(field+".sensitive", "has %d shares, there must be at most two", len(s.Sensitive))
		}
		for _, share := range slices.Concat(s.Balanced, s.Sensitive) {
			if !within(share, 0, 1) {
				return wrong(field, "has the share %g, it must be between 0 and 1", share)
			}
		}
	}
	return nil
}
