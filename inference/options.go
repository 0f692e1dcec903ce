package inference

import (
	"errors"
	"time"

	"deepfaked/inference/face"
)

// SchedulerOptions bounds and tunes a Scheduler.
type SchedulerOptions struct {
	// QueueRows bounds the rows that wait for one model. A model's rows are of
	// one size, so this bounds the bytes too. A single request that is larger is
	// still admitted to an empty queue.
	QueueRows int
	// BackgroundDelay is for how long background rows wait while there are
	// interactive ones. Then they take turns with them: nothing starves.
	BackgroundDelay time.Duration
	// LockThreads keeps each executor on a thread of its own, to which NVIDIA's
	// libraries tie what they set up. On a CPU it costs some microseconds a batch.
	LockThreads bool
	// Computing is called before each run that is expected to take a millisecond or more, on the
	// thread that it is on, and what it returns on the same thread after it; it may be nil.
	Computing func() (done func())
	// Now is the clock.
	Now func() time.Time
	// Observer may be nil.
	Observer Observer
}

// DefaultSchedulerOptions hold for a server of any size.
func DefaultSchedulerOptions() SchedulerOptions {
	return SchedulerOptions{QueueRows: 4096, BackgroundDelay: 10 * time.Second, Now: time.Now}
}

// Validate names the first field that makes no sense.
func (o SchedulerOptions) Validate() error {
	switch {
	case o.QueueRows < 1:
		return errors.New("scheduler: queue rows must be at least 1")
	case o.BackgroundDelay < 0:
		return errors.New("scheduler: background delay must not be negative")
	case o.Now == nil:
		return errors.New("scheduler: a clock is needed")
	}
	return nil
}

// DetectorOptions bounds a Detector.
type DetectorOptions struct {
	Parallel int // places for files that are decoded and judged; long ones leave some to others
	Film     int // how many of them what may be a film takes, with the memory of many frames
	Side     int // files that do not slow each other down, at least: more of them share the machine
	Waiting  int // interactive requests that may wait for that; further ones are refused
	// Wait is the longest predicted wait of an interactive request once others
	// have been waiting without a pause for that long, and Burst before. Where
	// files take longer than Wait, it is as long as they take.
	Wait, Burst time.Duration
	// BackgroundDelay is as in SchedulerOptions.
	BackgroundDelay time.Duration
	Faces           face.Options
	Prior           float64      // share of fakes expected among what is judged, within (0, 1)
	Observer        GateObserver // may be nil
}

// DefaultDetectorOptions suit a small server.
func DefaultDetectorOptions() DetectorOptions {
	return DetectorOptions{
		Parallel: 4, Film: 2, Side: 4, Waiting: 1024, Wait: time.Second, Burst: 10 * time.Second, BackgroundDelay: 10 * time.Second,
		Faces: face.Options{Smallest: 80, Most: 8}, Prior: 0.5,
	}
}

// Validate names the first field that makes no sense.
func (o DetectorOptions) Validate() error {
	switch {
	case o.Parallel < 1:
		return errors.New("detector: parallel must be at least 1")
	case o.Film < 1:
		return errors.New("detector: the places of a film must be at least 1")
	case o.Side < 1:
		return errors.New("detector: the files side by side must be at least 1")
	case o.Waiting < 1:
		return errors.New("detector: waiting must be at least 1")
	case o.Wait <= 0:
		return errors.New("detector: wait must be positive")
	case o.Burst < o.Wait:
		return errors.New("detector: burst must be at least wait")
	case o.BackgroundDelay < 0:
		return errors.New("detector: background delay must not be negative")
	case o.Faces.Smallest < 1:
		return errors.New("detector: the smallest face must be at least 1 pixel")
	case o.Faces.Most < 1:
		return errors.New("detector: faces must be at least 1")
	case !(o.Prior > 0 && o.Prior < 1):
		return errors.New("detector: the prior must lie between 0 and 1")
	}
	return nil
}
