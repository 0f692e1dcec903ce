package load

import (
	"math"
	"slices"
	"time"
)

// What steadiness asks for.
const (
	alike     = 3  // windows in a row
	tolerance = .1 // of their mean
)

// steady says that the last three windows tell the same: throughput and, of each
// mode, the median latency lie within 10 % of their mean. This is how NVIDIA's
// perf_analyzer decides that it has measured enough
// (https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/perf_analyzer/docs/cli.html,
// --stability-percentage).
func steady(windows []Window) bool {
	if len(windows) < alike {
		return false
	}
	throughput, latency := spread(windows[len(windows)-alike:])
	return throughput <= tolerance && latency <= tolerance
}

// spread is how far throughput and median latency go from their means, as shares
// of them; infinitely far where a mode had no success.
func spread(windows []Window) (throughput, latency float64) {
	var rates []float64
	medians := map[string][]float64{}
	for _, w := range windows {
		rates = append(rates, w.Throughput())
		for mode, median := range w.Medians() {
			medians[mode] = append(medians[mode], median.Seconds())
		}
	}
	for _, values := range medians {
		if len(values) < len(windows) {
			return deviation(rates), math.Inf(1)
		}
		latency = max(latency, deviation(values))
	}
	return deviation(rates), latency
}

// deviation is the biggest distance from the mean, as a share of it.
func deviation(values []float64) float64 {
	mean := 0.
	for _, v := range values {
		mean += v / float64(len(values))
	}
	if mean == 0 {
		return math.Inf(1)
	}
	return max(slices.Max(values)-mean, mean-slices.Min(values)) / mean
}

// Medians are the median latencies of what ended in a window, by mode.
func (w Window) Medians() map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, mode := range w.Ended.Modes() {
		out[mode] = w.Ended.Latency(mode).Percentile(50)
	}
	return out
}
