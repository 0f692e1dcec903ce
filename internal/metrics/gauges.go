package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Sources are what is asked for when metrics are wanted. All are called by
// several goroutines at once.
type Sources struct {
	Ready    func() error                       // nil: submissions can be judged
	Rows     func() int                         // that wait for a batch
	Jobs     func(context.Context) (int, error) // that wait in the database
	Spool    func() (files, bytes int64)
	Provider func() string // in use; empty: none yet
}

// Watch adds the gauges of the sources. It is called once at most.
func (m *Metrics) Watch(s Sources) {
	m.gauge("ready", "1 while submissions can be judged.", func() float64 {
		if s.Ready() == nil {
			return 1
		}
		return 0
	})
	m.gauge("rows_waiting", "Rows that wait for a batch in this process.", func() float64 { return float64(s.Rows()) })
	m.gauge("spool_files", "Uploads in this process's care: small ones in its memory, others on disk.", func() float64 { n, _ := s.Spool(); return float64(n) })
	m.gauge("spool_bytes", "Size of the uploads in this process's care, in memory and on disk.", func() float64 { _, n := s.Spool(); return float64(n) })
	m.registry.MustRegister(&jobsWaiting{count: s.Jobs, desc: prometheus.NewDesc(namespace+"_jobs_waiting",
		"Jobs that wait in the database, for whichever process: the same number from all of them.", nil, nil),
		away: prometheus.NewDesc(namespace+"_database_away", "1 while the database does not answer.", nil, nil)},
		&provider{name: s.Provider, desc: prometheus.NewDesc(namespace+"_provider_info",
			"1 for the execution provider in use.", []string{"provider"}, nil)})
}

// askFor bounds the question to the database.
const askFor = 2 * time.Second

// jobsWaiting asks the database each time, which may fail: then it tells that alone.
type jobsWaiting struct {
	count      func(context.Context) (int, error)
	desc, away *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (j *jobsWaiting) Describe(ch chan<- *prometheus.Desc) { ch <- j.desc; ch <- j.away }

// Collect implements prometheus.Collector.
func (j *jobsWaiting) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), askFor)
	defer cancel()
	n, err := j.count(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(j.desc, err)
		ch <- prometheus.MustNewConstMetric(j.away, prometheus.GaugeValue, 1)
		return
	}
	ch <- prometheus.MustNewConstMetric(j.away, prometheus.GaugeValue, 0)
	ch <- prometheus.MustNewConstMetric(j.desc, prometheus.GaugeValue, float64(n))
}

// provider is known only once the models are loaded.
type provider struct {
	name func() string
	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (p *provider) Describe(ch chan<- *prometheus.Desc) { ch <- p.desc }

// Collect implements prometheus.Collector.
func (p *provider) Collect(ch chan<- prometheus.Metric) {
	if name := p.name(); name != "" {
		ch <- prometheus.MustNewConstMetric(p.desc, prometheus.GaugeValue, 1, name)
	}
}
