package job

import (
	"context"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"deepfaked/inference"
	"deepfaked/internal/spool"
	"deepfaked/preprocess"
)

// keepJobs is how long a finished job is remembered, for an operator who looks
// into the table. Its result is in the books.
const keepJobs = time.Hour

// cooldown is the least time between two looks for jobs, each of which takes as
// many as there are free workers.
const cooldown = 10 * time.Millisecond

// suspects is River's queue of jobs during which a process has ended: one of them may end
// the next as well, so they run one at a time, or it would take the same others along at
// each of its attempts.
const suspects = "suspects"

// films is River's queue of files that take long: as many of them run as the gate lets in.
// More would wait there, beside other processes that have nothing to do.
const films = "films"

// large is the size in bytes of a file that takes long whatever it is.
const large = 16 << 20

// queueOf is the queue of a file: that of films for what may be one, and for what is large.
func queueOf(f *spool.File) string {
	head := make([]byte, preprocess.SniffBytes)
	n, _ := f.ReadAt(head, 0) // what can't be read has no format
	format, known := preprocess.Sniff(head[:n])
	if known && format.Kind() == "" || f.Size() > large {
		return films
	}
	return river.QueueDefault
}

// detection is what the queue holds of a submission.
type detection struct {
	ID          string                `json:"id"`
	RequestID   string                `json:"request_id"`
	Account     string                `json:"account"`
	SHA256      string                `json:"sha256"`
	Size        int64                 `json:"size,omitempty"` // 0 in jobs of versions that did not say it
	FileName    string                `json:"file_name,omitempty"`
	Declared    preprocess.Kind       `json:"declared,omitempty"`
	Sensitivity inference.Sensitivity `json:"sensitivity,omitempty"`

	queue string // of River; empty: the one of what is no film
}

// Kind implements river.JobArgs. It stands in the database: it never changes.
func (detection) Kind() string { return "detection" }

func newDetection(t Task) detection {
	return detection{
		ID: t.ID, RequestID: t.RequestID, Account: t.Account, SHA256: t.File.SHA256(), Size: t.File.Size(), FileName: t.FileName,
		Declared: t.Declared, Sensitivity: t.Sensitivity, queue: queueOf(t.File),
	}
}

func (r *Runner) config() *river.Config {
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{runner: r})
	c := &river.Config{
		ID:                          r.deps.Process.ID(),
		CompletedJobRetentionPeriod: keepJobs,
		CancelledJobRetentionPeriod: keepJobs,
		DiscardedJobRetentionPeriod: keepJobs,
		FetchCooldown:               cooldown,
		JobTimeout:                  -1, // each attempt has a deadline of its own
		Logger:                      slog.New(quiet{r.deps.Logger.Handler()}),
		MaxAttempts:                 r.opts.Attempts,
		RetryPolicy:                 retryPolicy{r.opts.Retry},
		Workers:                     workers,
	}
	if r.opts.Workers > 0 {
		c.Queues = map[string]river.QueueConfig{
			river.QueueDefault: {MaxWorkers: r.opts.Workers}, films: {MaxWorkers: max(1, r.opts.Workers/4)}, suspects: {MaxWorkers: 1},
		}
	}
	return c
}

// retryPolicy waits longer after each attempt.
type retryPolicy struct{ first time.Duration }

// NextRetry implements river.ClientRetryPolicy.
func (p retryPolicy) NextRetry(j *rivertype.JobRow) time.Time {
	return time.Now().Add(time.Duration(j.Attempt*j.Attempt) * p.first)
}

// quiet leaves out what the queue says of its ordinary life.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}
