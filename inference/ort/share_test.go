package ort

import (
	"runtime"
	"testing"
	"time"
)

func TestWaysShareTheCores(t *testing.T) {
	t.Parallel()
	for _, cores := range []int{1, 2, 4, 6, 16, 64} {
		all := ways(cores)
		for _, w := range all {
			if used := w.sessions * w.threads; used > cores || used < cores-w.threads+1 {
				t.Errorf("%d cores: %d sessions of %d threads", cores, w.sessions, w.threads)
			}
		}
		if last := all[len(all)-1]; last.sessions != cores {
			t.Errorf("%d cores: the last way has %d sessions", cores, last.sessions)
		}
	}
}

func TestFewestSessionsThatAreGood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		rates    []float64 // of one, two and four sessions
		sessions int
	}{
		{"threads are as good", []float64{95, 100, 98}, 1},
		{"one session is slow", []float64{60, 92, 100}, 2},
		{"only alone", []float64{50, 60, 100}, 4},
	} {
		var all []way
		for i, rate := range c.rates {
			all = append(all, way{sessions: 1 << i, threads: 4 >> i, rate: rate})
		}
		if got := choose(all).sessions; got != c.sessions {
			t.Errorf("%s: %d sessions, want %d", c.name, got, c.sessions)
		}
	}
}

func TestShareMeasures(t *testing.T) { //nolint:paralleltest // there is one environment in a process
	env := openEnvironment(t, func(o *Options) { o.IntraOpThreads = 0 })
	if err := env.Share(bytesModel(t)); err != nil {
		t.Fatal(err)
	}
	if got := env.Sessions() * env.Threads(); got > runtime.GOMAXPROCS(0) || got < 1 {
		t.Errorf("%d sessions of %d threads on %d cores", env.Sessions(), env.Threads(), runtime.GOMAXPROCS(0))
	}
	sessions, err := env.NewSessions(bytesModel(t), 4)
	if err != nil || len(sessions) != env.Sessions() {
		t.Errorf("%d sessions, %v", len(sessions), err)
	}
}

func TestShareLeavesOptionsAlone(t *testing.T) { //nolint:paralleltest // there is one environment in a process
	env := openEnvironment(t, func(o *Options) { o.Sessions, o.IntraOpThreads = 3, 0 })
	threads := env.Threads()
	if err := env.Share(bytesModel(t)); err != nil {
		t.Fatal(err)
	}
	if env.Sessions() != 3 || env.Threads() != threads {
		t.Errorf("%d sessions of %d threads", env.Sessions(), env.Threads())
	}
}

func TestTimes(t *testing.T) { //nolint:paralleltest // there is one environment in a process
	s := newTestSession(t, openEnvironment(t, nil), bytesModel(t), 4)
	times, err := s.Time(time.Millisecond)
	if err != nil || len(times) != len(s.Sizes()) {
		t.Fatalf("%v, %v", times, err)
	}
	for i, took := range times {
		if took <= 0 || took > time.Minute {
			t.Errorf("%d rows: %v", s.Sizes()[i], took)
		}
	}
}
