package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"deepfaked/internal/load"
)

// report is the JSON of deepfaked-bench; times are in seconds. Scripts rely on its
// words.
type report struct {
	URL         string         `json:"url"`
	Mode        string         `json:"mode"`
	Files       map[string]int `json:"files"` // by kind
	Seed        uint64         `json:"seed"`
	SLO         float64        `json:"slo"`
	Settings    settings       `json:"settings"`
	Ended       time.Time      `json:"ended"`
	Interrupted bool           `json:"interrupted"`
	Steps       []stepReport   `json:"steps"`
}

// settings are the rest of what a run needs that is to give the same.
type settings struct {
	Version     string             `json:"version"` // of this program; empty where the build did not say
	Post        string             `json:"post"`    // empty: the service's own interface
	Form        string             `json:"form"`    // of post
	Mix         map[string]float64 `json:"mix"`     // null: all files alike
	Warmup      float64            `json:"warmup"`
	Window      float64            `json:"window"`
	Windows     int                `json:"windows"`
	Timeout     float64            `json:"timeout"`
	Connections int                `json:"connections"`
}

type stepReport struct {
	Load       loadReport               `json:"load"`
	Steady     bool                     `json:"steady"`   // never of a burst
	Measured   float64                  `json:"measured"` // what the figures rest on
	Windows    []windowReport           `json:"windows"`
	Throughput float64                  `json:"throughput"`
	Goodput    float64                  `json:"goodput"`
	Requests   int                      `json:"requests"` // each is counted in one of the next five
	Successes  int                      `json:"successes"`
	Failures   int                      `json:"failures"`
	Errors     map[string]int           `json:"errors"`
	Unsent     int                      `json:"unsent"`
	Unfinished int                      `json:"unfinished"`
	Statuses   map[string]int           `json:"statuses"` // of every answer; jobs have several
	Messages   map[string]string        `json:"messages"` // the first of each status that came with any
	Latency    map[string]latencyReport `json:"latency"`  // by mode
	Delay      latencyReport            `json:"delay"`    // of sending
	Server     *serverReport            `json:"server"`   // null: not asked for, or not to be had
}

type loadReport struct {
	Arrivals string  `json:"arrivals"` // poisson, constant, closed or burst
	Rate     float64 `json:"rate,omitempty"`
	Clients  int     `json:"clients,omitempty"`
	Burst    int     `json:"burst,omitempty"`
}

type windowReport struct {
	Length     float64            `json:"length"`
	Throughput float64            `json:"throughput"`
	Median     map[string]float64 `json:"median"` // by mode
}

type latencyReport struct {
	Count    int     `json:"count"`
	TimedOut int     `json:"timed_out"` // of these; they would have taken longer
	Mean     float64 `json:"mean"`
	P50      float64 `json:"p50,omitempty"` // absent where too many were never sent to know, as the next ones
	P90      float64 `json:"p90,omitempty"`
	P95      float64 `json:"p95,omitempty"`
	P99      float64 `json:"p99,omitempty"`
	P999     float64 `json:"p99.9,omitempty"`
	Max      float64 `json:"max"`
}

type serverReport struct {
	CPU    float64 `json:"cpu_per_success"`
	Memory int64   `json:"resident_bytes"` // proportional set size, the most that was read
}

// report writes everything that was asked for.
func (c *cli) report(steps []step, files []file, stdout, stderr io.Writer) error {
	r := report{URL: c.URL, Mode: c.Mode, Files: map[string]int{}, Seed: c.Seed, SLO: c.SLO.Seconds(), Settings: c.settings(), Ended: time.Now().UTC()}
	for _, f := range files {
		r.Files[string(f.kind)]++
	}
	for _, s := range steps {
		r.Steps = append(r.Steps, s.report())
		r.Interrupted = r.Interrupted || s.result.Interrupted
	}
	table := stdout
	if c.JSON == "-" {
		table = stderr
	}
	err := printTables(table, steps, c.SLO)
	if c.Plots != "" {
		err = errors.Join(err, draw(c.Plots, steps))
	}
	return errors.Join(err, c.writeJSON(r, stdout))
}

func (c *cli) settings() settings {
	s := settings{
		Post: c.Post, Form: c.Form, Mix: c.Mix, Warmup: c.Warmup.Seconds(), Window: c.Window.Seconds(), Windows: c.Windows,
		Timeout: c.Timeout.Seconds(), Connections: c.Connections,
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		s.Version = build.Main.Version
	}
	return s
}

func (c *cli) writeJSON(r report, stdout io.Writer) error {
	if c.JSON == "" {
		return nil
	}
	content, err := json.Marshal(r)
	if err != nil {
		return err
	}
	content = append(content, '\n')
	if c.JSON == "-" {
		_, err = stdout.Write(content)
		return err
	}
	return os.WriteFile(c.JSON, content, 0o600)
}

func (s step) report() stepReport {
	due := s.result.Due()
	out := stepReport{
		Load: loadOf(s.plan), Steady: s.result.Steady, Measured: s.result.Length().Seconds(), Windows: []windowReport{},
		Requests: due.Requests, Successes: due.Successes, Failures: due.Failures, Errors: due.Errors,
		Unsent: due.Unsent, Unfinished: due.Unfinished, Statuses: map[string]int{}, Messages: map[string]string{}, Latency: map[string]latencyReport{}, Delay: latencyOf(due.Delay(), 0),
	}
	out.Throughput, out.Goodput = s.result.Rates()
	for _, w := range s.result.Windows {
		entry := windowReport{w.Length.Seconds(), w.Throughput(), map[string]float64{}}
		for mode, median := range w.Medians() {
			entry.Median[mode] = median.Seconds()
		}
		out.Windows = append(out.Windows, entry)
	}
	for status, n := range due.Statuses {
		out.Statuses[strconv.Itoa(status)] = n
	}
	for status, message := range due.Messages {
		out.Messages[strconv.Itoa(status)] = message
	}
	for _, mode := range due.Modes() {
		out.Latency[mode] = latencyOf(due.Latency(mode), due.TimedOut[mode])
	}
	if cpu, memory, known := s.result.Cost(); known {
		out.Server = &serverReport{cpu.Seconds(), memory}
	}
	return out
}

func loadOf(p load.Plan) loadReport {
	out := loadReport{Arrivals: "constant", Rate: p.Rate, Clients: p.Clients, Burst: p.Burst}
	switch {
	case p.Burst > 0:
		out.Arrivals = "burst"
	case p.Clients > 0:
		out.Arrivals = "closed"
	case p.Poisson:
		out.Arrivals = "poisson"
	}
	return out
}

func latencyOf(d load.Distribution, timedOut int) latencyReport {
	at := func(percent float64) float64 {
		if !d.Known(percent) {
			return 0
		}
		return d.Percentile(percent).Seconds()
	}
	return latencyReport{d.Count(), timedOut, d.Mean().Seconds(), at(50), at(90), at(95), at(99), at(99.9), d.Max().Seconds()}
}
