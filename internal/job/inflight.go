package job

import (
	"context"
	"encoding/json"
	"errors"
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
// be writing down. It is safe for concurrent use.
type inFlight struct {
	mu   sync.Mutex
	jobs map[int64]inHand
}

// inHand says how many attempts run here of a job, one unless another process had the job in
// between, and none once they have ended, and when the last to begin was fetched. River
// has the database say that at each fetch, and looks for jobs no oftener than cooldown says: it
// tells two fetches apart.
type inHand struct {
	attempts int
	fetched  time.Time
}

func (f *inFlight) begin(job int64, fetched time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.jobs == nil {
		f.jobs = map[int64]inHand{}
	}
	f.jobs[job] = inHand{f.jobs[job].attempts + 1, fetched}
}

func (f *inFlight) end(job int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.jobs[job]
	f.jobs[job] = inHand{h.attempts - 1, h.fetched}
}

// list returns the ids of all, and apart those of the jobs that have ended.
func (f *inFlight) list() (all, ended []int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all = []int64{} // in JSON an array in any case
	for job, h := range f.jobs {
		all = append(all, job)
		if h.attempts == 0 {
			ended = append(ended, job)
		}
	}
	return all, ended
}

// forget drops those of the jobs that have ended, and have not been begun again, whose
// end is written down: they do not run in the table either, or by a later fetch. Running
// are those that do, and when each was fetched.
func (f *inFlight) forget(ended []int64, running map[int64]time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, job := range ended {
		h := f.jobs[job]
		fetched, runs := running[job]
		if h.attempts == 0 && (!runs || !fetched.Equal(h.fetched)) {
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

// running are the jobs that run in the table and bear this process, and when each was fetched.
func (r *Runner) running(ctx context.Context, tx *store.Tx) (fetched map[int64]time.Time, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, attempted_at FROM river_job WHERE state = 'running' AND `+r.words.holder+` = $1`, r.deps.Process.ID())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	fetched = map[int64]time.Time{}
	for rows.Next() {
		var id int64
		var at time.Time
		if err := rows.Scan(&id, &at); err != nil {
			return nil, err
		}
		fetched[id] = at
	}
	return fetched, rows.Err()
}
