package inference

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"testing"
	"testing/synctest"

	"deepfaked/preprocess"
)

// tellingDecoder is a fake that tells of windows as it likes.
type tellingDecoder func(ctx context.Context, tell preprocess.Listener) (*preprocess.Media, error)

func (tellingDecoder) Inspect(io.ReaderAt, int64, preprocess.Kind) error { return nil }

func (f tellingDecoder) Decode(ctx context.Context, _ *os.File, _ int64, _ preprocess.Kind, tell preprocess.Listener) (*preprocess.Media, error) {
	return f(ctx, tell)
}

// withDecoder is a detector whose files are decoded by f.
func withDecoder(t *testing.T, f tellingDecoder) *Detector {
	t.Helper()
	d := newTestDetector(t, media(preprocess.Audio, nil, nil), noFaces)
	d.parts.Decoder = f
	return d
}

// TestSoundIsJudgedWhileItIsDecoded: the rest of the file comes only once its
// first window has been judged. It used to wait for the whole file.
func TestSoundIsJudgedWhileItIsDecoded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		windows := []preprocess.Window{voice(1), voice(3)}
		d := withDecoder(t, func(ctx context.Context, tell preprocess.Listener) (*preprocess.Media, error) {
			for i := range windows {
				tell(ctx, i, windows[i:i+1]) // returns when it is judged
			}
			return media(preprocess.Audio, nil, windows), nil
		})
		got, err := d.Detect(t.Context(), Request{})
		if err != nil {
			t.Fatal(err)
		}
		if f := got.Report.Findings[0]; math.Abs(f.LogOdds-2) > 1e-3 || len(f.Pieces) != 2 {
			t.Errorf("log-odds of %.3f from %d windows", f.LogOdds, len(f.Pieces))
		}
	})
}

// TestTheLastTimeAWindowIsToldOfHolds: a decoder that is lost leaves windows, and
// perhaps failures, that the next one puts right.
func TestTheLastTimeAWindowIsToldOfHolds(t *testing.T) {
	t.Parallel()
	d := withDecoder(t, func(ctx context.Context, tell preprocess.Listener) (*preprocess.Media, error) {
		lost, cancel := context.WithCancel(ctx)
		tell(ctx, 0, []preprocess.Window{voice(9)})
		cancel()
		tell(lost, 1, []preprocess.Window{voice(9)})
		tell(ctx, 5, []preprocess.Window{voice(9)})
		windows := []preprocess.Window{voice(-1), voice(3)}
		tell(ctx, 0, windows)
		return media(preprocess.Audio, nil, windows), nil
	})
	got, err := d.Detect(t.Context(), Request{})
	if err != nil {
		t.Fatal(err)
	}
	if z := got.Report.LogOdds; math.Abs(z-1) > 1e-3 {
		t.Errorf("log-odds of %.3f, want those of the windows of the media", z)
	}
}

// TestAWindowThatIsNotJudged: no score is invented for it.
func TestAWindowThatIsNotJudged(t *testing.T) {
	t.Parallel()
	windows := []preprocess.Window{voice(1), voice(3)}
	for name, c := range map[string]struct {
		tell func(context.Context, preprocess.Listener)
		want error
	}{
		"its judging failed": {func(ctx context.Context, tell preprocess.Listener) {
			gone, cancel := context.WithCancel(ctx)
			tell(gone, 0, windows[:1])
			cancel()
			tell(gone, 1, windows[1:])
		}, context.Canceled},
		"it was silent then": {func(ctx context.Context, tell preprocess.Listener) {
			tell(ctx, 0, []preprocess.Window{level(0), windows[1]})
		}, nil},
		"nobody told of it": {func(ctx context.Context, tell preprocess.Listener) { tell(ctx, 0, windows[:1]) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := withDecoder(t, func(ctx context.Context, tell preprocess.Listener) (*preprocess.Media, error) {
				c.tell(ctx, tell)
				return media(preprocess.Audio, nil, windows), nil
			})
			if _, err := d.Detect(t.Context(), Request{}); err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestWhatIsLeftOfAFileIsNotJudged: what is still being judged when the decoder
// fails is stopped.
func TestWhatIsLeftOfAFileIsNotJudged(t *testing.T) {
	t.Parallel()
	told := make(chan context.Context, 1)
	d := withDecoder(t, func(ctx context.Context, _ preprocess.Listener) (*preprocess.Media, error) {
		told <- ctx
		return nil, &preprocess.Error{Code: preprocess.UnsupportedMediaType, Message: "It is damaged."}
	})
	if _, err := d.Detect(t.Context(), Request{}); err == nil {
		t.Fatal("no error")
	}
	if (<-told).Err() == nil {
		t.Error("the context of what listens goes on")
	}
}
