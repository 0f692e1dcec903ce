package inference

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// talk is a sound of windows half a second apart, of which each but the first holds half of the one before: as many
// of a genuine voice as are asked for, with others in the place of some.
func talk(n int, others map[int]preprocess.Window) []preprocess.Window {
	windows := make([]preprocess.Window, n)
	for i := range windows {
		w, other := others[i]
		if !other {
			w = voice(-3)
		}
		w.At = time.Duration(i) * 500 * time.Microsecond
		windows[i] = w
	}
	return windows
}

// withStretch is a detector whose model of speech has the rule.
func withStretch(t *testing.T, m *preprocess.Media, s models.Stretch) *Detector {
	t.Helper()
	d := newTestDetector(t, m, noFaces)
	d.judges[models.SpeechSynthesis][0].Calibration.Stretch = &s
	return d
}

// TestAStretchDecides: in ten minutes of genuine speech three synthetic seconds were lost in the mean of all windows.
func TestAStretchDecides(t *testing.T) {
	t.Parallel()
	rule := models.Stretch{Windows: 2, Scale: 1, Growth: .1}
	spliced := func(windows ...preprocess.Window) map[int]preprocess.Window {
		others := map[int]preprocess.Window{}
		for i, w := range windows {
			others[100+i] = w
		}
		return others
	}
	growth := rule.Growth * math.Log(300)
	for name, c := range map[string]struct {
		n       int
		others  map[int]preprocess.Window
		verdict Verdict
		logOdds float64
		at      int // window with which the stretch begins; -1: there is none
		decides bool
	}{
		"genuine":                  {300, nil, Real, -3, 0, false},
		"two windows":              {300, spliced(voice(4), voice(3)), Fake, 3.5 - growth, 100, true},
		"one window":               {300, spliced(voice(4)), Real, .5 - growth, 99, true},
		"with a pause in between":  {300, spliced(voice(4), tone(9), voice(4)), Real, .5 - .1*math.Log(299), 99, true},
		"in a short sound":         {4, map[int]preprocess.Window{1: voice(4), 2: voice(3)}, Real, .25, -1, false},
		"all of it, and even more": {5, map[int]preprocess.Window{0: voice(5), 1: voice(5), 2: voice(5), 3: voice(5), 4: voice(5)}, Fake, 5, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := withStretch(t, media(preprocess.Audio, nil, talk(c.n, c.others)), rule).Detect(t.Context(), Request{})
			require.NoError(t, err)
			assert.Equal(t, c.verdict, got.Verdict)
			assert.InDelta(t, c.logOdds, got.Report.LogOdds, 1e-2)
			s := got.Report.Findings[0].Stretch
			if c.at < 0 {
				assert.Nil(t, s)
				return
			}
			require.NotNil(t, s)
			assert.InDelta(t, .0005*float64(c.at), s.StartSeconds, 1e-9)
			assert.InDelta(t, .0005*float64(c.at+1)+.001, s.EndSeconds, 1e-9)
			assert.Equal(t, c.decides, s.Decides)
			assert.Equal(t, c.decides, slices.Contains(reasonCodes(got.Report), PartOfSound))
			if c.decides {
				assert.InDelta(t, got.Report.LogOdds, s.LogOdds, 0)
				assert.InDelta(t, got.Report.ProbabilityFake, s.ProbabilityFake, 0)
			}
		})
	}
}

// TestWindowsApartAreNoStretch: where an operator has fewer windows taken there are gaps between them, which nothing is known of.
func TestWindowsApartAreNoStretch(t *testing.T) {
	t.Parallel()
	windows := talk(20, map[int]preprocess.Window{5: voice(9), 6: voice(9)})
	for i := range windows {
		windows[i].At *= 3
	}
	got, err := withStretch(t, media(preprocess.Audio, nil, windows), models.Stretch{Windows: 2, Scale: 1}).Detect(t.Context(), Request{})
	require.NoError(t, err)
	assert.Nil(t, got.Report.Findings[0].Stretch)
	assert.InDelta(t, -1.8, got.Report.LogOdds, 1e-2)
}

// watched is a model that looks around each time that it runs.
type watched struct {
	Runner

	look func()
}

func (w watched) Run(n int) ([]float32, error) {
	w.look()
	return w.Runner.Run(n)
}

// TestALongSoundIsHeardInParts: half an hour is 878 windows. All at once they would keep what else their account sends waiting.
func TestALongSoundIsHeardInParts(t *testing.T) {
	t.Parallel()
	const n = 878
	windows := talk(n, nil)
	m := media(preprocess.Audio, nil, windows)
	var d *Detector
	most, speech := 0, string(models.SpeechSynthesis)
	find := func(rows meanRunner) Runner { return finder{rows, noFaces} }
	d = detectorOf(t, m, needed(), find, func(e Executor) {
		e[speech] = watched{e[speech], func() {
			d.parts.Scheduler.mu.Lock()
			defer d.parts.Scheduler.mu.Unlock()
			most = max(most, d.parts.Scheduler.rows)
		}}
	})
	d.parts.Decoder = tellingDecoder(func(ctx context.Context, tell preprocess.Listener) (*preprocess.Media, error) {
		tell(ctx, 0, windows)
		return m, nil
	})
	got, err := d.Detect(t.Context(), Request{})
	require.NoError(t, err)
	assert.Len(t, heardOf(got.Report), n)
	assert.Positive(t, most)
	assert.LessOrEqual(t, most, windowBatch)
}

// TestWhatFollowsIsPredicted: a sound is judged some windows at a time, and the first of them must not be let in when
// all of them would be late.
func TestWhatFollowsIsPredicted(t *testing.T) {
	t.Parallel()
	const patience = 2 * time.Minute // far less than what follows takes, and far more than a slow machine needs
	name := string(models.SpeechSynthesis)
	for more, late := range map[int]bool{0: false, 100_000: true} {
		s := newTestDetector(t, media(preprocess.Audio, nil, nil), noFaces).parts.Scheduler
		s.Seed(name, 1, 10*time.Millisecond)
		running, released := make(chan struct{}), make(chan struct{})
		release := sync.OnceFunc(func() { close(released) })
		t.Cleanup(release) // before the scheduler is closed, which waits for what runs
		queue := func(ctx context.Context, w Work) chan error {
			w.Model, w.Rows = name, 1
			end := make(chan error, 1)
			go func() {
				_, err := s.Run(ctx, w)
				end <- err
			}()
			return end
		}
		waiting := func(rows int) {
			require.Eventually(t, func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.rows == rows
			}, patience, time.Millisecond)
		}
		runs := queue(t.Context(), Work{Account: "other", Fill: func(int, models.Row) { close(running); <-released }})
		<-running
		waits := queue(t.Context(), Work{Account: "other", Fill: func(int, models.Row) {}})
		waiting(1)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		answer := queue(ctx, Work{More: more, Fill: func(int, models.Row) {}})
		if late {
			saturated := (*SaturatedError)(nil)
			require.ErrorAs(t, <-answer, &saturated)
			assert.Greater(t, saturated.RetryAfter, patience)
		} else {
			waiting(2)
		}
		release()
		if !late {
			require.NoError(t, <-answer)
		}
		require.NoError(t, <-runs)
		require.NoError(t, <-waits)
		cancel()
	}
}
