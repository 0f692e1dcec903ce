package inference

import (
	"context"
	"fmt"
	"sync"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// hearing judges the sound of one file as its windows come, where it can while the
// rest of the file is still being decoded.
type hearing struct {
	detector *Detector
	req      Request
	mu       sync.Mutex
	heard    map[int]heard // by window
}

// heard is what there is to say of a window.
type heard struct {
	outputs map[string]float64 // of each speech model, by name
	err     error
}

// listen is a preprocess.Listener. What is silent is no piece, and no model is shown it.
func (h *hearing) listen(ctx context.Context, from int, told []preprocess.Window) {
	var at []int
	var windows []preprocess.Window
	for i, w := range told {
		if !silent(w) {
			at, windows = append(at, from+i), append(windows, w)
		}
	}
	if len(windows) == 0 {
		return
	}
	all := make([]heard, len(windows))
	for i := range all {
		all[i].outputs = map[string]float64{}
	}
	err := guarded(func() error {
		for _, c := range h.detector.judges[models.SpeechSynthesis] {
			logits, err := h.run(ctx, c, windows)
			if err != nil {
				return err
			}
			for i, z := range logits {
				all[i].outputs[c.Name] = float64(z)
			}
		}
		return nil
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, w := range all {
		w.err = err
		h.heard[at[i]] = w
	}
}

// run has a model judge windows, a row each.
func (h *hearing) run(ctx context.Context, c models.Card, windows []preprocess.Window) ([]float32, error) {
	return h.detector.parts.Scheduler.Run(ctx, Work{
		Model: c.Name, Rows: len(windows), Account: h.req.Account, Priority: h.req.Priority,
		Fill: func(i int, dst models.Row) { repeat(dst.F32, windows[i].Samples) },
	})
}

// outputs are those of a speech model of pieces whose windows have all been heard.
func (h *hearing) outputs(c models.Card, pieces []piece) ([]float64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]float64, len(pieces))
	for i, p := range pieces {
		w, ok := h.heard[p.frame]
		switch {
		case !ok:
			return nil, fmt.Errorf("window %d has not been judged", p.frame)
		case w.err != nil:
			return nil, w.err
		}
		out[i] = w.outputs[c.Name]
	}
	return out, nil
}

// repeat fills dst with src over and over.
func repeat(dst, src []float32) {
	for n := copy(dst, src); n > 0 && n < len(dst); {
		n += copy(dst[n:], src)
	}
}
