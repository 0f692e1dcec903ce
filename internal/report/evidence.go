package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"deepfaked/inference"
	"deepfaked/models"
	"deepfaked/preprocess"
)

// mostRows is how many pieces of a finding the page lists, the highest of them; the JSON has all.
const mostRows = 16

// evidence is a finding of something that lasts, or all those of a picture, as the page shows them.
type evidence struct {
	Map    *picture
	Blocks []block
}

// block is a finding.
type block struct {
	Title, Said, Note string
	Stretch           string // on the part of a sound that speaks most for a fake; may be empty
	Curve             *curve
	Tables            []table
}

type table struct {
	Head []string
	Rows []row
}

type row struct {
	Cells       []string
	Probability string
	Top         bool // the highest of several
	value       float64
}

// titles name what a task judges.
var titles = map[string]string{
	string(models.FaceManipulation): "Faces",
	string(models.FaceMotion):       "Faces in motion",
	string(models.SpeechSynthesis):  "Speech",
}

func (d *Document) evidence() (out []evidence) {
	moving := d.DurationSeconds > 0
	for _, f := range d.Findings {
		if b := d.block(f, moving); moving || len(out) == 0 {
			out = append(out, evidence{Blocks: []block{b}})
		} else {
			out[0].Blocks = append(out[0].Blocks, b)
		}
	}
	if !moving && len(out) > 0 {
		out[0].Map = d.picture()
	}
	return out
}

func (d *Document) block(f inference.Finding, moving bool) block {
	whole := "The picture as a whole"
	if d.MediaType == string(preprocess.Video) {
		whole = "Frames as a whole"
	}
	b := block{Title: cmp.Or(titles[f.Task], whole), Said: fmt.Sprintf("P(fake) %s by this alone", percent(f.ProbabilityFake))}
	if moving && len(f.Pieces) > 1 {
		b.Curve = d.curve(f)
	}
	rows, left := d.rows(f, moving)
	b.Tables = split(d.head(f, moving), rows)
	b.Stretch = stretch(f.Stretch)
	switch {
	case left > 0:
		b.Note = fmt.Sprintf("The %d highest of %d; the JSON report has all.", len(rows), len(rows)+left)
	case !moving && len(rows) > len(f.Pieces):
		b.Note = "Parts are told by the scale of the whole. They show what it comes from, and are not to be believed one by one."
	}
	return b
}

// stretch says in words which part of a sound speaks most for a fake; nothing of none.
func stretch(s *inference.Stretch) string {
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("From %s to %s the sound speaks most for a fake: P(fake) %s.", clock(s.StartSeconds), clock(s.EndSeconds), percent(s.ProbabilityFake))
	if s.Decides {
		return text + " The finding rests on that part, as it says more than the whole."
	}
	return text + " The whole says more, and the finding rests on that."
}

func (d *Document) head(f inference.Finding, moving bool) []string {
	boxed := slices.ContainsFunc(f.Pieces, func(p inference.Piece) bool { return len(p.Box) > 0 })
	switch {
	case moving && boxed:
		return []string{"At", "Face at"}
	case moving:
		return []string{"At"}
	}
	return []string{"", "Where, in pixels"}
}

// rows are the pieces, or the tiles of the one, and how many are left out.
func (d *Document) rows(f inference.Finding, moving bool) (rows []row, left int) {
	for i, p := range f.Pieces {
		r := row{value: p.ProbabilityFake}
		switch {
		case moving:
			r.Cells = []string{span(p)}
			if len(p.Box) > 0 {
				r.Cells = append(r.Cells, place(p.Box))
			}
		case len(p.Box) > 0:
			r.Cells = []string{"Face " + letter(i), place(p.Box)}
		default:
			r.Cells = []string{"Whole", dimensions(d.Width, d.Height)}
		}
		rows = append(rows, r)
		if len(p.Tiles) == 1 {
			rows[len(rows)-1].Cells = []string{"Part 1", place(p.Tiles[0].Box)}
			continue
		}
		for k, t := range p.Tiles {
			rows = append(rows, row{value: t.ProbabilityFake, Cells: []string{"Part " + strconv.Itoa(k+1), place(t.Box)}})
		}
	}
	if n := len(rows) - mostRows; n > 0 && moving {
		lowest := slices.SortedFunc(slices.Values(rows), func(a, b row) int { return cmp.Compare(b.value, a.value) })[mostRows-1].value
		rows, left = slices.DeleteFunc(rows, func(r row) bool { return r.value < lowest }), n
		if len(rows) > mostRows {
			rows = rows[:mostRows]
		}
	}
	if len(rows) == 0 {
		return nil, 0
	}
	top := slices.MaxFunc(rows, func(a, b row) int { return cmp.Compare(a.value, b.value) }).value
	for i := range rows {
		rows[i].Probability = percent(rows[i].value)
		rows[i].Top = moving && len(rows) > 1 && rows[i].value == top
	}
	return rows, left
}

// split lays long lists out in two tables side by side.
func split(head []string, rows []row) []table {
	const shortest = 6
	if len(rows) < shortest {
		return []table{{head, rows}}
	}
	half := (len(rows) + 1) / 2
	return []table{{head, rows[:half]}, {head, rows[half:]}}
}

// letter names a face, after the last letter by a number.
func letter(i int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if i < len(letters) {
		return letters[i : i+1]
	}
	return strconv.Itoa(i + 1)
}

// span is when a piece is.
func span(p inference.Piece) string {
	if p.DurationSeconds > 0 {
		return clock(p.AtSeconds) + " to " + clock(p.AtSeconds+p.DurationSeconds)
	}
	return clock(p.AtSeconds)
}

// place is a box: its size and its upper left corner.
func place(box []int) string {
	if len(box) != 4 {
		return ""
	}
	return fmt.Sprintf("%d × %d at %d, %d", box[2], box[3], box[0], box[1])
}
