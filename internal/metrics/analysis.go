package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"deepfaked/preprocess"
)

// Stage is a part of an analysis whose time is measured.
type Stage string

// The stages, in the order in which a submission goes through them.
const (
	Spool     Stage = "spool"     // the upload arrives on disk
	Admission Stage = "admission" // as many files as may be are being analysed
	Child     Stage = "child"     // all decoder children are at work, or as many as films may have
	Decode    Stage = "decode"
	Queue     Stage = "queue"     // a row waits for its batch
	Inference Stage = "inference" // a batch
	Store     Stage = "store"     // a place reserved, or a transaction of the books
)

// losses are the reasons that are shown before they have happened: a rate can be
// told only of a counter that was there before it rose.
var losses = []preprocess.Loss{
	preprocess.LostIdle, preprocess.LostTimeout, preprocess.LostCanceled, preprocess.LostCPU, preprocess.LostMemory,
	preprocess.LostCrash, preprocess.LostKilled, preprocess.LostExit, preprocess.LostReply, preprocess.LostGaveUp,
}

func (m *Metrics) makeAnalysis() {
	stages := m.histogram("stage_duration_seconds", "Time of one stage of an analysis.", seconds, "stage")
	m.stages = map[Stage]prometheus.Observer{}
	for _, s := range []Stage{Spool, Admission, Child, Decode, Queue, Inference, Store} {
		m.stages[s] = stages.WithLabelValues(string(s))
	}
	m.batches = m.histogram("batch_rows", "Rows of a batch, by model.", rows, "model")
	m.losses = m.counter("decoder_children_lost_total", "Decoder processes that were killed or died, by reason.", "reason")
	for _, l := range losses {
		m.losses.WithLabelValues(string(l))
	}
}

func (m *Metrics) observe(s Stage, took time.Duration) { m.stages[s].Observe(took.Seconds()) }

// Entered implements inference.GateObserver.
func (m *Metrics) Entered(wait time.Duration) { m.observe(Admission, wait) }

// Waited implements inference.Observer.
func (m *Metrics) Waited(_ string, wait time.Duration) { m.observe(Queue, wait) }

// Ran implements inference.Observer.
func (m *Metrics) Ran(model string, rows int, took time.Duration) {
	m.observe(Inference, took)
	m.batches.WithLabelValues(model).Observe(float64(rows))
}

// Decoded implements preprocess.Observer.
func (m *Metrics) Decoded(waited, took time.Duration) {
	m.observe(Child, waited)
	m.observe(Decode, took)
}

// Lost implements preprocess.Observer.
func (m *Metrics) Lost(why preprocess.Loss) { m.losses.WithLabelValues(string(why)).Inc() }
