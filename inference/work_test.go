package inference

import (
	"testing"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// TestOverviewCountsAsMuchAsAllTiles: a picture that is large enough has a row more,
// whose logit and the mean of the tiles' are averaged; a small one has its tiles alone.
func TestOverviewCountsAsMuchAsAllTiles(t *testing.T) {
	t.Parallel()
	const side = 8
	frame := func(width, height int) preprocess.Frame {
		return preprocess.Frame{Width: width, Height: height, Pix: make([]byte, width*height*3)}
	}
	media := &preprocess.Media{Frames: []preprocess.Frame{frame(24, 16), frame(9, 8)}}
	card := models.Card{
		Input:         models.Tensor{Shape: []int64{-1, side, side, 3}},
		Preprocessing: models.Preprocessing{Tiles: 4, Overview: true},
	}
	pieces := []piece{{frame: 0}, {frame: 1}}
	for name, c := range map[string]struct {
		overview bool
		rows     int
		want     [2]float64
	}{
		"with":    {true, 7, [2]float64{(5 + 2) / 2.0, 20}},
		"without": {false, 6, [2]float64{2, 20}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			card := card
			card.Preprocessing.Overview = c.overview
			r := rowsOf{count: len(pieces)}
			fill := r.tiles(media, card, pieces)
			logits := []float32{1, 1, 3, 3, 10, 30}
			if c.overview {
				logits = append([]float32{5}, logits...)
			}
			if len(r.owner) != c.rows {
				t.Fatalf("%d rows, want %d", len(r.owner), c.rows)
			}
			if got := r.pool(logits); [2]float64(got) != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for i := range r.owner {
				fill(i, models.Row{U8: make([]byte, side*side*3)})
			}
		})
	}
}
