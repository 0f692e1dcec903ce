package models

// InUse is what a service judges by.
type InUse struct {
	Models  []Running `json:"models"`
	Quality string    `json:"quality,omitempty"` // of the built-in models: best, or fast where better ones are passed over
	Fusion  *Fusion   `json:"fusion,omitempty"`  // nil: none is in force
}

// NewInUse shows models that are loaded together, in their order.
func NewInUse(loaded []*Model) InUse {
	var used InUse
	cards := make([]Card, len(loaded))
	for i, m := range loaded {
		cards[i] = m.Card
	}
	for _, m := range loaded {
		r := m.Running()
		if !r.Task.Judges() {
			if by := Used(cards, r.Task).Name; by != r.Name {
				r.Runs.ReplacedBy = by
			}
		}
		used.Models = append(used.Models, r)
	}
	return used
}

// Running is the card of a model in full, whichever of its files runs, since the
// figures of the variant that runs are not all that was measured of the model.
type Running struct {
	Card
	Runs Runs `json:"running"`
}

// Runs says which file of a model runs.
type Runs struct {
	Precision Precision `json:"precision"`
	File      string    `json:"file"`
	SHA256    string    `json:"sha256"`
	// ReplacedBy is the model that finds faces, or speech, in the place of this one, which is loaded
	// and never asked.
	ReplacedBy string `json:"replaced_by,omitempty"`
}

// Running is the model's card, or for a variant that of the model that it is one of.
func (m *Model) Running() Running {
	r := Running{Card: m.Card, Runs: Runs{Precision: Full, File: m.Card.File, SHA256: m.Card.SHA256}}
	if m.whole != nil {
		r.Card, r.Runs.Precision = *m.whole, m.Precision
	}
	return r
}
