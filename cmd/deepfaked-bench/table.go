package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"deepfaked/internal/filename"
	"deepfaked/internal/load"
)

// lateSending is from when on it is told that requests were sent late.
const lateSending = 10 * time.Millisecond

// printTables writes how fast the answers came, what became of the requests, and
// what people need to know about that.
func printTables(w io.Writer, steps []step, slo time.Duration) error {
	err := errors.Join(printSpeed(w, steps, slo), printFates(w, steps))
	for _, s := range steps {
		for _, remark := range s.remarks() {
			_, last := fmt.Fprintf(w, "%s: %s\n", named(s.plan), remark)
			err = errors.Join(err, last)
		}
	}
	return err
}

func printSpeed(w io.Writer, steps []step, slo time.Duration) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "LOAD\tTHROUGHPUT\tWITHIN %v\tMODE\tP50\tP90\tP95\tP99\tP99.9\tMAX\n", slo)
	for _, s := range steps {
		throughput, goodput := s.result.Rates()
		begin := fmt.Sprintf("%s\t%.4g/s\t%.4g/s", named(s.plan), throughput, goodput)
		due := s.result.Due()
		if len(due.Modes()) == 0 {
			_, _ = fmt.Fprintf(table, "%s\t-\t-\t-\t-\t-\t-\t-\n", begin)
		}
		for _, mode := range due.Modes() {
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", begin, mode, strings.Join(percentiles(due, mode, s.plan.Timeout), "\t"))
			begin = "\t\t"
		}
	}
	_, _ = fmt.Fprintln(table)
	return table.Flush()
}

// percentiles are those of a mode's latencies, each a dash where too few tell it from
// the longest or it is not known, and the longest. With requests that were given up they
// may be longer from the timeout on, and with some that were never sent the longest may.
func percentiles(due *load.Tally, mode string, timeout time.Duration) (cells []string) {
	l := due.Latency(mode)
	shown := func(percent float64) string {
		d := l.Percentile(percent)
		if !l.Known(percent) || due.TimedOut[mode] > 0 && d >= timeout {
			return "≥" + people(d)
		}
		return people(d)
	}
	for _, percent := range []float64{50, 90, 95, 99, 99.9} {
		if l.Tells(percent) {
			cells = append(cells, shown(percent))
			continue
		}
		cells = append(cells, "-")
	}
	return append(cells, shown(100))
}

func printFates(w io.Writer, steps []step) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "LOAD\tREQUESTS\tSUCCEEDED\tANSWERS\tERRORS\tCPU EACH\tMEMORY (PSS)\tMEASURED")
	for _, s := range steps {
		due := s.result.Due()
		cpu, memory := "-", "-"
		if each, resident, known := s.result.Cost(); known {
			cpu, memory = people(each), fmt.Sprintf("%d MiB", resident>>20)
		}
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%v\n", named(s.plan), due.Requests, due.Successes,
			counts(due.Statuses), counts(due.Errors), cpu, memory, s.result.Length().Round(time.Millisecond))
	}
	_, _ = fmt.Fprintln(table)
	return table.Flush()
}

// counts is how often there was what.
func counts[K cmp.Ordered](of map[K]int) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%v: %d", key, of[key]))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

func sum[K comparable](of map[K]int) (all int) {
	for _, n := range of {
		all += n
	}
	return all
}

// people is a duration to three digits.
func people(d time.Duration) string {
	unit := time.Nanosecond
	for unit*1000 <= d {
		unit *= 10
	}
	return d.Round(unit).String()
}

// remarks are what the figures don't say.
func (s step) remarks() (out []string) {
	r := s.result
	due := r.Due()
	switch {
	case len(r.Windows) == 0:
		return []string{"nothing was measured."}
	case s.plan.Burst > 0 && len(due.TimedOut) > 0:
		out = append(out, fmt.Sprintf("throughput is that of %s, until the last request was given up, and tells little.", people(r.Length())))
	case s.plan.Burst > 0:
	case len(r.Windows) < 3:
		out = append(out, "too short to tell whether it is steady, which takes three windows.")
	case r.Steady:
		out = append(out, fmt.Sprintf("steady after %d windows; the last three are measured.", len(r.Windows)))
	default:
		out = append(out, unsteady(r))
	}
	if len(due.Errors) > 0 {
		out = append(out, fmt.Sprintf("of %d requests %d failed without an answer that counts (%s).", due.Requests, sum(due.Errors), counts(due.Errors)))
	}
	for _, known := range []struct {
		n    int
		what string
	}{
		{due.Unsent, "due and never sent, as all connections or this machine were busy; the percentiles above count them as the longest."},
		{due.Unfinished, "given up when the run ended, and missing in the latencies above."},
	} {
		if known.n > 0 {
			out = append(out, count(known.n, "request")+" "+known.what)
		}
	}
	out = append(out, refusals(due)...)
	if late := due.Delay().Percentile(99); late > lateSending {
		out = append(out, fmt.Sprintf("one request in a hundred was sent %s late or later: all connections or this machine were busy.", people(late)))
	}
	if r.MeterError != nil {
		out = append(out, fmt.Sprintf("processor time and memory are not known: %v.", r.MeterError))
	}
	return out
}

// refusals are the answers that were no success, with what the first of each status
// said.
func refusals(due *load.Tally) (out []string) {
	for _, status := range slices.Sorted(maps.Keys(due.Statuses)) {
		if status/100 == 2 {
			continue
		}
		said := "without a message."
		if message, ok := due.Messages[status]; ok {
			said = "the first: " + filename.Shown(message)
		}
		out = append(out, fmt.Sprintf("%s of %d, %s", count(due.Statuses[status], "answer"), status, said))
	}
	return out
}

// count is a number of things.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// unsteady says what varied.
func unsteady(r *load.Result) string {
	throughput, latency := r.Spread()
	begin := fmt.Sprintf("never steady in %d windows, which are all measured", len(r.Windows))
	if math.IsInf(throughput+latency, 1) {
		return begin + ": one of the last had no success, or none of one mode."
	}
	return fmt.Sprintf("%s: in the last, throughput was up to %.0f %% off its mean and median latency %.0f %%; in three in a row 10 %% are allowed.",
		begin, 100*throughput, 100*latency)
}
