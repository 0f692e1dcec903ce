package job

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"deepfaked/internal/store"
)

// River marks jobs as running and tells this process of them in one statement.
// Where the answer is lost, nobody runs them, and they bear a process that is at
// work: only that process can know.

// unheard is how long ago a job was fetched that nobody works on before its fetch
// is taken for lost. River waits ten seconds for the answer; and once an attempt
// has ended, for the end to be written down, hardly ever as long as this.
const unheard = time.Minute

// inFlight are the jobs that this process works on, or whose end River may still
// be writing down. It is safe for concurrent use.
type inFlight struct {
	mu   sync.Mutex
	jobs map[int64]flight
}

type flight struct {
	attempts int       // that run here, one unless another process had the job in between
	landed   time.Time // when the last one ended
}

func (f *inFlight) begin(job int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.jobs == nil {
		f.jobs = map[int64]flight{}
	}
	at := f.jobs[job]
	at.attempts++
	f.jobs[job] = at
}

// end notes the end of an attempt. Without an error the books have the job's end,
// and it would do no harm to be fetched again; else that end is left to River.
func (f *inFlight) end(job int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := flight{f.jobs[job].attempts - 1, time.Now()}
	f.jobs[job] = at
	if at.attempts == 0 && err == nil {
		delete(f.jobs, job)
	}
}

// list returns the ids, and forgets those whose end has long been written down.
func (f *inFlight) list() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := []int64{} // in JSON an array in any case
	for job, at := range f.jobs {
		if at.attempts == 0 && time.Since(at.landed) > unheard {
			delete(f.jobs, job)
			continue
		}
		ids = append(ids, job)
	}
	return ids
}

// reclaim gives back jobs that were fetched for this process and never reached it,
// and the attempt, which nobody has made. It returns how many wait again.
func (r *Runner) reclaim(ctx context.Context, tx *store.Tx) (int64, error) {
	known, err := json.Marshal(r.inFlight.list())
	if err != nil {
		return 0, err
	}
	again, err := tx.ExecContext(ctx, `
		UPDATE river_job SET state = 'available', attempt = attempt - 1, scheduled_at = `+r.words.now+`
		WHERE state = 'running' AND `+r.words.holder+` = $1 AND attempted_at < `+r.words.late+`
		AND id NOT IN (`+r.words.listed+`)`, r.deps.Process.ID(), string(known))
	if err != nil {
		return 0, err
	}
	return again.RowsAffected()
}
