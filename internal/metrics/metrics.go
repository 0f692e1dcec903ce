package metrics

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// namespace begins the names of all metrics that are ours.
const namespace = "deepfaked"

// Bounds of the histograms: seconds from a probe to the longest analysis, and
// rows of a batch.
var (
	seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 600}
	rows    = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}
)

// Metrics implements the observers of api, inference, preprocess and
// internal/job. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	requests, refusals, losses, attempts, quota *prometheus.CounterVec
	durations, waits, runs, batches             *prometheus.HistogramVec
	away                                        *prometheus.GaugeVec
	stages                                      map[Stage]prometheus.Observer
}

// New makes metrics in a registry of their own, together with those of the
// process and of Go.
func New() *Metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector())
	m := &Metrics{registry: r}
	m.makeRequests()
	m.makeAnalysis()
	m.makeWork()
	return m
}

// Handler answers with all metrics. What could not be found out is left out,
// and logged.
func (m *Metrics) Handler(logger *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: failures{slog.NewLogLogger(logger.Handler(), slog.LevelWarn)}, ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	})
}

// failures logs what could not be found out or told, but not that who asked has left,
// which is reported for each metric.
type failures struct{ log *log.Logger }

// Println implements promhttp.Logger.
func (f failures) Println(v ...any) {
	hasGone := func(v any) bool {
		err, ok := v.(error)
		return ok && errors.Is(err, context.Canceled)
	}
	if !slices.ContainsFunc(v, hasGone) {
		f.log.Println(v...)
	}
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}

// gauge registers a gauge that is asked for when it is wanted.
func (m *Metrics) gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, value))
}
