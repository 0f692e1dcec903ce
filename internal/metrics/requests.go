package metrics

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"deepfaked/api"
)

// methods are those that get a label of their own.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

func (m *Metrics) makeRequests() {
	m.requests = m.counter("http_requests_total", "Requests answered.", "route", "method", "status")
	m.durations = m.histogram("http_request_duration_seconds", "Time from a request's headers to its answer.", seconds, "route", "method", "status")
	m.refusals = m.counter("rejections_total", "Requests refused, by reason.", "reason")
	for _, reason := range api.Reasons() {
		m.refusals.WithLabelValues(string(reason))
	}
}

// Answered implements api.Observer.
func (m *Metrics) Answered(a api.Answer) {
	a.Route = cmp.Or(a.Route, "none")
	if !slices.Contains(methods, a.Method) {
		a.Method = "other"
	}
	status := strconv.Itoa(a.Status)
	m.requests.WithLabelValues(a.Route, a.Method, status).Inc()
	m.durations.WithLabelValues(a.Route, a.Method, status).Observe(a.Took.Seconds())
	if a.Reason != "" {
		m.refusals.WithLabelValues(string(a.Reason)).Inc()
	}
}

// Spooled implements api.Observer.
func (m *Metrics) Spooled(took time.Duration) { m.observe(Spool, took) }
