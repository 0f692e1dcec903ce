package inference

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// hearing judges the sound of one file as its windows come, where it can while the
// rest of the file is still being decoded.
type hearing struct {
	detector *Detector
	req      Request
	queued   *semaphore.Weighted // windows that are queued for the models
	mu       sync.Mutex
	heard    map[int]heard // by window
}

// windowBatch is how many windows of a file are queued for the models at a time, so that what else its account sends
// has its turn between them: half an hour has 878.
const windowBatch = 64

// newHearing has heard nothing yet.
func newHearing(d *Detector, req Request) *hearing {
	return &hearing{detector: d, req: req, queued: semaphore.NewWeighted(windowBatch), heard: map[int]heard{}}
}

// heard is what there is to say of a window.
type heard struct {
	speech  float64            // share of it in which somebody speaks
	spoken  bool               // whether that is enough to be judged
	outputs map[string]float64 // of each speech model, by name; nil where it is not spoken
	err     error
}

// listen is a preprocess.Listener.
func (h *hearing) listen(ctx context.Context, from int, told []preprocess.Window) {
	for len(told) > 0 {
		n := min(windowBatch, len(told))
		h.hear(ctx, from, told[:n], len(told)-n)
		from, told = from+n, told[n:]
	}
}

// hear judges windows, which more are known to follow. What is silent or holds no speech is no piece, and no speech
// model is shown it.
func (h *hearing) hear(ctx context.Context, from int, told []preprocess.Window, more int) {
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
	err := guarded(func() error {
		if err := h.queued.Acquire(ctx, int64(len(windows))); err != nil {
			return err
		}
		defer h.queued.Release(int64(len(windows)))
		if err := h.find(ctx, windows, all, more); err != nil {
			return err
		}
		return h.judge(ctx, windows, all, more)
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, w := range all {
		w.err = err
		h.heard[at[i]] = w
	}
}

// find has the model that finds speech listen to windows.
func (h *hearing) find(ctx context.Context, windows []preprocess.Window, all []heard, more int) error {
	c := h.detector.voice
	logits, err := h.run(ctx, c, windows, more)
	if err != nil {
		return err
	}
	line, steps := float32(logit(c.Activity.Threshold)), len(logits)/len(windows)
	for i := range all {
		n := 0
		for _, z := range logits[i*steps : (i+1)*steps] {
			if z >= line {
				n++
			}
		}
		all[i].speech, all[i].spoken = float64(n)/float64(steps), n >= c.Activity.Steps
	}
	return nil
}

// judge has the speech models judge the windows that are spoken.
func (h *hearing) judge(ctx context.Context, windows []preprocess.Window, all []heard, more int) error {
	var at []int
	var spoken []preprocess.Window
	for i, w := range windows {
		if all[i].spoken {
			at, spoken = append(at, i), append(spoken, w)
			all[i].outputs = map[string]float64{}
		}
	}
	if len(spoken) == 0 {
		return nil
	}
	for _, c := range h.detector.judges[models.SpeechSynthesis] {
		logits, err := h.run(ctx, c, spoken, more)
		if err != nil {
			return err
		}
		for i, z := range logits {
			all[at[i]].outputs[c.Name] = float64(z)
		}
	}
	return nil
}

// run has a model judge windows, a row each, which others are to follow.
func (h *hearing) run(ctx context.Context, c models.Card, windows []preprocess.Window, more int) ([]float32, error) {
	return h.detector.parts.Scheduler.Run(ctx, Work{
		Model: c.Name, Rows: len(windows), More: more, Account: h.req.Account, Priority: h.req.Priority,
		Fill: func(i int, dst models.Row) { levels(dst.F32, windows[i].Samples) },
	})
}

// pieces are the windows that are spoken, and for how long there is speech in the file, as far as they tell. All
// windows that are not silent have to have been heard.
func (h *hearing) pieces(media *preprocess.Media) (out []piece, speech time.Duration, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	share := 0.0
	for i, window := range media.Windows {
		if silent(window) {
			continue
		}
		w, ok := h.heard[i]
		switch {
		case !ok:
			return nil, 0, fmt.Errorf("window %d has not been judged", i)
		case w.err != nil:
			return nil, 0, w.err
		case w.spoken:
			out = append(out, piece{frame: i, seconds: window.At.Seconds(), length: lengthOf(window)})
		}
		share += w.speech / float64(len(media.Windows))
	}
	return out, time.Duration(share * float64(media.Duration)), nil
}

// lengthOf is how long a window lasts.
func lengthOf(w preprocess.Window) time.Duration {
	return time.Duration(len(w.Samples)) * time.Second / preprocess.SoundRate
}

// outputs are those of a speech model of pieces.
func (h *hearing) outputs(c models.Card, pieces []piece) []float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]float64, len(pieces))
	for i, p := range pieces {
		out[i] = h.heard[p.frame].outputs[c.Name]
	}
	return out
}

// levels fills dst with samples, from -1 to 1, over and over.
func levels(dst []float32, samples []int16) {
	n := min(len(dst), len(samples))
	for i, x := range samples[:n] {
		dst[i] = float32(x) / fullScale
	}
	for n > 0 && n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}
