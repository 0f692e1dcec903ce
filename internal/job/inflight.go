package job

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"deepfaked/internal/store"
)

// River marks jobs as running and tells this process of them in one statement.
// Where the answer is lost, nobody runs them, and they bear a process that is at
// work: only that process can know.

// unheard is how long ago a job was fetched that nobody works on before its fetch
// is taken for lost. River waits ten seconds for the answer.
const unheard = time.Minute

// inFlight are the jobs that this process works on, or whose end River may still
// be writing down: how many attempts run here of each, one unless another process
// had the job in between, and none once they have ended. It is safe for concurrent use.
type inFlight struct {
	mu   sync.Mutex
	jobs map[int64]int
}

func (f *inFlight) begin(job int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.jobs == nil {
		f.jobs = map[int64]int{}
	}
	f.jobs[job]++
}

func (f *inFlight) end(job int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.jobs[job]--
}

// list returns the ids of all, and apart those of the jobs that have ended.
func (f *inFlight) list() (all, ended []int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all = []int64{} // in JSON an array in any case
	for job, attempts := range f.jobs {
		all = append(all, job)
		if attempts == 0 {
			ended = append(ended, job)
		}
	}
	return all, ended
}

// forget drops those of the jobs that have ended, and have not been begun again,
// which do not run in the table either: their end is written down.
func (f *inFlight) forget(ended, running []int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, job := range ended {
		if f.jobs[job] == 0 && !slices.Contains(running, job) {
			delete(f.jobs, job)
		}
	}
}

// reclaim gives back jobs that were fetched for this process and never reached it,
// and the attempt, which nobody has made. It returns how many wait again.
func (r *Runner) reclaim(ctx context.Context, tx *store.Tx) (int64, error) {
	all, ended := r.inFlight.list()
	known, err := json.Marshal(all)
	if err != nil {
		return 0, err
	}
	running, err := r.running(ctx, tx)
	if err != nil {
		return 0, err
	}
	r.inFlight.forget(ended, running)
	again, err := tx.ExecContext(ctx, `
		UPDATE river_job SET state = 'available', attempt = attempt - 1, scheduled_at = `+r.words.now+`
		WHERE state = 'running' AND `+r.words.holder+` = $1 AND attempted_at < `+r.words.in(-unheard)+`
		AND id NOT IN (`+r.words.listed+`)`, r.deps.Process.ID(), string(known))
	if err != nil {
		return 0, err
	}
	return again.RowsAffected()
}

// running are the jobs that run in the table and bear this process.
func (r *Runner) running(ctx context.Context, tx *store.Tx) (ids []int64, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT id FROM river_job WHERE state = 'running' AND `+r.words.holder+` = $1`, r.deps.Process.ID())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
