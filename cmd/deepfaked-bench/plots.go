package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"deepfaked/internal/load"
	"deepfaked/internal/loadchart"
)

// draw makes a histogram for each load and mode, histogram-MODE-LOAD.png, with -2 and
// so on for a load that comes again, and for ramps latency against load,
// latency-MODE.png. What an earlier run drew goes: it would be taken for pictures of
// this one.
func draw(dir string, steps []step) error {
	if err := clearPlots(dir); err != nil {
		return err
	}
	return drawSteps(dir, steps)
}

// drawn are the names that draw gives.
var drawn = regexp.MustCompile(`^(latency-(sync|async)|histogram-(sync|async)-(burst-of-\d+|\d+-clients?|[\d.e+-]+-per-s)(-\d+)?)\.png$`)

func clearPlots(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if drawn.MatchString(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

func drawSteps(dir string, steps []step) (err error) {
	points, times := map[string][]loadchart.Point{}, map[string]int{}
	for _, s := range steps {
		name := fileName(s.plan)
		if times[name]++; times[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, times[name])
		}
		due := s.result.Due()
		for _, mode := range due.Modes() {
			path := filepath.Join(dir, fmt.Sprintf("histogram-%s-%s.png", mode, name))
			err = errors.Join(err, loadchart.Histogram(path, fmt.Sprintf("%s: %s", mode, named(s.plan)), due.Latency(mode)))
			points[mode] = append(points[mode], loadchart.Point{Rate: s.plan.Rate, Latency: due.Latency(mode)})
		}
	}
	if len(steps) < 2 {
		return err
	}
	for mode, of := range points {
		path := filepath.Join(dir, fmt.Sprintf("latency-%s.png", mode))
		err = errors.Join(err, loadchart.Curve(path, mode+": latency against load", of))
	}
	return err
}

// fileName is the load as part of a file's name.
func fileName(p load.Plan) string {
	return strings.NewReplacer(" ", "-", "/", "-per-").Replace(named(p))
}
