package inference

import (
	"bytes"
	"image"
	"slices"
	"testing"

	"deepfaked/inference/face"
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
			if got := r.pool(logits).logits; [2]float64(got) != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for i := range r.owner {
				fill(i, models.Row{U8: make([]byte, side*side*3)})
			}
		})
	}
}

// TestFramesOfFilmsHaveTheTilesOfMeasurement: lines and calibrations of films were measured by four tiles a frame.
// Of sixteen frames the service took three of each, in a row across the middle in place of the corners.
func TestFramesOfFilmsHaveTheTilesOfMeasurement(t *testing.T) {
	t.Parallel()
	const side = 8
	card := models.Card{Input: models.Tensor{Shape: []int64{-1, side, side, 3}}, Preprocessing: models.Preprocessing{Tiles: measuredTiles}}
	for _, frames := range []int{1, 12, preprocess.DefaultLimits().Frames, 100} {
		media, pieces := &preprocess.Media{}, make([]piece, frames)
		for i := range pieces {
			media.Frames = append(media.Frames, preprocess.Frame{Width: 3 * side, Height: 2 * side, Pix: make([]byte, 3*6*side*side)})
			pieces[i].frame = i
		}
		r := rowsOf{count: frames}
		r.tiles(media, card, pieces)
		if len(r.owner) != frames*measuredTiles {
			t.Errorf("%d frames have %d tiles", frames, len(r.owner))
		}
	}
}

// TestAPictureHasTheTilesOfItsCard: a card may ask for 64 tiles, and 48 were judged, the bound of films.
func TestAPictureHasTheTilesOfItsCard(t *testing.T) {
	t.Parallel()
	const side, asked = 4, 64
	card := models.Card{Input: models.Tensor{Shape: []int64{-1, side, side, 3}}, Preprocessing: models.Preprocessing{Tiles: asked}}
	for frames, want := range map[int]int{1: asked, 2: videoTiles} {
		media, pieces := &preprocess.Media{}, make([]piece, frames)
		for i := range pieces {
			media.Frames = append(media.Frames, preprocess.Frame{Width: 8 * side, Height: 8 * side, Pix: make([]byte, 3*8*8*side*side)})
			pieces[i].frame = i
		}
		r := rowsOf{count: frames}
		r.tiles(media, card, pieces)
		if len(r.owner) != want {
			t.Errorf("%d frames have %d tiles, want %d", frames, len(r.owner), want)
		}
	}
}

// TestSurroundFollowsTheCrop: a model that compares a face with what is about it is shown
// both in one row, the narrow crop first; by its card alone it would have had the face only.
func TestSurroundFollowsTheCrop(t *testing.T) {
	t.Parallel()
	const side, length = 4, 32
	frame := preprocess.Frame{Width: length, Height: length, Pix: make([]byte, length*length*3)}
	for i := range frame.Pix {
		frame.Pix[i] = byte(i % 251)
	}
	media, box := &preprocess.Media{Frames: []preprocess.Frame{frame}}, image.Rect(12, 12, 20, 20)
	card := models.Card{
		Task: models.FaceManipulation, Input: models.Tensor{Type: "uint8", Shape: []int64{-1, 2, side, side, 3}},
		Preprocessing: models.Preprocessing{Margin: 1, Surround: 2.5},
	}
	r := rowsOf{count: 1}
	fill := r.crops(media, card, []piece{{track: []image.Rectangle{box}}})
	row := models.Row{U8: make([]byte, card.Input.RowLen())}
	fill(0, row)
	want := append(face.Crop(frame, box, 1, side), face.Crop(frame, box, 2.5, side)...)
	if !bytes.Equal(row.U8, want) {
		t.Errorf("got %v, want %v", row.U8, want)
	}
	if got := r.pool([]float32{3}); len(got.logits) != 1 || got.logits[0] != 3 || got.likeness != nil {
		t.Errorf("got %v of one face, want the logit 3 alone", got)
	}
}

// TestLikenessIsPooledAsLogitsAre: of two numbers a row the second would have been taken for the next row's logit.
func TestLikenessIsPooledAsLogitsAre(t *testing.T) {
	t.Parallel()
	r := rowsOf{count: 2}
	r.add(0, 1, .5)
	r.add(0, 2, .5)
	r.add(1, 1, 1)
	got := r.pool([]float32{4, 1, 2, .5, 8, 0, -4, .75})
	want := judgement{logits: []float64{2.25, -3}, likeness: []float64{.625, .75}}
	if !slices.Equal(got.logits, want.logits) || !slices.Equal(got.likeness, want.likeness) {
		t.Errorf("got %v, want %v", got, want)
	}
}
