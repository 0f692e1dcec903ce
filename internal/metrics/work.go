package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"deepfaked/internal/job"
)

func (m *Metrics) makeWork() {
	m.attempts = m.counter("job_attempts_total", "Attempts at jobs, by how they ended.", "end")
	for _, end := range []job.End{job.Complete, job.Failed, job.GaveUp, job.Retried, job.Postponed, job.Returned} {
		m.attempts.WithLabelValues(string(end))
	}
	m.waits = m.histogram("job_wait_seconds", "Time from when a job might have begun to when it did.", seconds)
	m.runs = m.histogram("job_attempt_duration_seconds", "Time of an attempt at a job.", seconds)
	m.quota = m.counter("quota_events_total", "What the books were asked to do with places in allowances, by what came of it.", "event")
	for _, event := range []Event{Reserved, Counted, Failed, Released, Withdrawn, Exhausted, Daily, Broken} {
		m.quota.WithLabelValues(string(event))
	}
	m.away = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: namespace, Name: "redis_away", Help: "1 while Redis is away and requests are counted by this process alone.",
	}, []string{"counts"})
	m.registry.MustRegister(m.away)
}

// Attempted implements job.Observer.
func (m *Metrics) Attempted(end job.End, waited, took time.Duration) {
	m.attempts.WithLabelValues(string(end)).Inc()
	m.waits.WithLabelValues().Observe(waited.Seconds())
	m.runs.WithLabelValues().Observe(took.Seconds())
}

// Redis returns what is told when the Redis that counts requests of accounts or
// of addresses goes away, and when it is back. Until then it is not.
func (m *Metrics) Redis(counts string) func(away bool) {
	gauge := m.away.WithLabelValues(counts)
	return func(away bool) {
		gauge.Set(0)
		if away {
			gauge.Set(1)
		}
	}
}
