package report

import (
	"fmt"
	"strconv"
	"strings"

	"deepfaked/inference"
)

// curve shows P(fake) of the pieces over time.
type curve struct {
	Height, Middle, MiddleText, Base, BaseText, TimeText int
	From, Until, Said, Path                              string
	Dots                                                 []dot
	Spans                                                []stroke
}

type dot struct{ X, Y string }

type stroke struct{ X, Until, Y string }

func (d *Document) curve(f inference.Finding) *curve {
	const left, right, top, base = 36, 632, 8, 88
	c := &curve{
		Height: base + 18, Base: base, BaseText: base + 4, Middle: (top + base) / 2, MiddleText: (top+base)/2 + 4, TimeText: base + 15,
		From: clock(0), Until: clock(d.DurationSeconds),
	}
	at := func(s float64) string { return fixed(left + min(s/d.DurationSeconds, 1)*(right-left)) }
	var path strings.Builder
	highest := f.Pieces[0]
	for _, p := range f.Pieces {
		if p.ProbabilityFake > highest.ProbabilityFake {
			highest = p
		}
		y := fixed(base - p.ProbabilityFake*(base-top))
		if p.DurationSeconds > 0 {
			c.Spans = append(c.Spans, stroke{at(p.AtSeconds), at(p.AtSeconds + p.DurationSeconds), y})
			continue
		}
		c.Dots = append(c.Dots, dot{at(p.AtSeconds), y})
		if len(p.Box) == 0 { // of several faces in a frame no line can be drawn
			fmt.Fprintf(&path, "%s%s %s", map[bool]string{true: "M", false: "L"}[path.Len() == 0], at(p.AtSeconds), y)
		}
	}
	c.Path = path.String()
	c.Said = fmt.Sprintf("P(fake) over time, highest at %s with %s.", clock(highest.AtSeconds), percent(highest.ProbabilityFake))
	return c
}

// picture shows where in a picture its parts and faces lie, without the picture.
type picture struct {
	Width, Height, OuterWidth, OuterHeight int
	Caption                                string
	Tiles, Faces                           []area
	Labels                                 []label
}

type area struct{ X, Y, Width, Height, Opacity string }

type label struct{ X, Y, Text string }

// picture is nil where there is nothing to show.
func (d *Document) picture() *picture {
	if d.Width == 0 || d.Height == 0 {
		return nil
	}
	const longest = 200
	by := longest / float64(max(d.Width, d.Height))
	p := &picture{Width: int(float64(d.Width)*by + .5), Height: int(float64(d.Height)*by + .5)}
	p.OuterWidth, p.OuterHeight = p.Width+4, p.Height+4
	for _, f := range d.Findings {
		for i, piece := range f.Pieces {
			p.add(&p.Faces, piece.Box, by, letter(i), 1)
			for k, t := range piece.Tiles {
				p.add(&p.Tiles, t.Box, by, strconv.Itoa(k+1), .05+.45*t.ProbabilityFake)
			}
		}
	}
	switch {
	case len(p.Tiles) > 0 && len(p.Faces) > 0:
		p.Caption = "Where the parts and the faces are. The stronger the tone of a part, the more it says fake."
	case len(p.Tiles) > 0:
		p.Caption = "Where the parts are: the stronger the tone, the more they say fake."
	case len(p.Faces) > 0:
		p.Caption = "Where the faces are."
	default:
		return nil
	}
	return p
}

func (p *picture) add(list *[]area, box []int, by float64, name string, opacity float64) {
	if len(box) != 4 {
		return
	}
	x, y, w, h := float64(box[0])*by, float64(box[1])*by, float64(box[2])*by, float64(box[3])*by
	*list = append(*list, area{fixed(x), fixed(y), fixed(w), fixed(h), fixed(opacity)})
	at := label{X: fixed(x + 4), Y: fixed(y + 13), Text: name}
	if list == &p.Faces { // which may begin where a part does
		at.X, at.Y = fixed(x+w-12), fixed(y+h-4)
	}
	p.Labels = append(p.Labels, at)
}

// fixed is a coordinate.
func fixed(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
