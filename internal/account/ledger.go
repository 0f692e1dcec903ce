package account

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"deepfaked/internal/gather"
	"deepfaked/internal/store"
)

// Account is who a key belongs to.
type Account struct {
	ID      string
	Name    string
	Plan    Plan
	Created time.Time
}

// Submission is what an account asks to have analysed.
type Submission struct {
	ID          string // from NewDetectionID
	Async       bool
	Sensitivity string
}

// Outcome is the judgement of a submission.
type Outcome struct {
	Kind       string          // image, audio or video
	Verdict    string          // real or fake
	Confidence float64         // in [0, 1]
	Report     json.RawMessage // everything else that is known; may be nil
}

// State is where a detection stands.
type State string

// The states of the contract.
const (
	Processing State = "processing"
	Complete   State = "complete"
	Failed     State = "failed"
)

// Detection is a submission and what came of it.
type Detection struct {
	ID          string
	Async       bool
	State       State
	Sensitivity string
	Outcome               // zero unless Complete
	Error       string    // a sentence for the client; empty unless Failed
	Created     time.Time // UTC
	Completed   time.Time // UTC, when it completed or failed; zero while Processing
}

// Usage is what an account has used of its plan in the current period.
type Usage struct {
	Plan        string
	Used        int       // successful detections; a reservation is none
	Limit       int       // the plan's allowance
	Remaining   int       // Limit - Used, never negative
	PeriodStart time.Time // UTC
}

// Ledger keeps accounts, keys, quota and detections in a store. It is safe for
// concurrent use, and several processes may keep the same books: everything
// that depends on what it has read is done in one transaction. It keeps no copy
// of anything in memory, so what another process has changed holds at once; only
// what the database would not take is remembered, for Retry, and, where no other
// process reserves any, places of synchronous scans (places.go).
type Ledger struct {
	store *store.Store
	plans map[string]Plan
	now   func() time.Time
	owed  owed
	look  time.Duration // bounds what is read for a client who waits
	work  time.Duration // bounds what is written

	process *store.Process
	own     *ownPlaces                // nil where other processes reserve places too
	settles *gather.Gather[*settling] // of SQLite
}

// holder is the process that holds the place of a synchronous detection. A job's
// is held by nobody: any process may run it.
func (l *Ledger) holder(s Submission) sql.NullString {
	if s.Async || l.process == nil {
		return sql.NullString{}
	}
	return sql.NullString{String: l.process.ID(), Valid: true}
}

// looking is how long a client waits at most for what is read. A database that hangs,
// rather than refuses, would hold everybody for as long as they have patience.
const looking = 10 * time.Second

// New keeps the books in s, which the caller closes after the last call.
func New(s *store.Store, opts Options) (*Ledger, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	plans := make(map[string]Plan, len(opts.Plans))
	for _, p := range opts.Plans {
		plans[p.Name] = p
	}
	l := &Ledger{store: s, plans: plans, now: opts.Now, look: looking, work: finishing, process: opts.Process}
	if opts.Alone && s.Postgres() != nil {
		return nil, errors.New("account: only a SQLite folder is one process's alone")
	}
	if opts.Alone {
		l.own = newPlaces()
	}
	l.settles = gather.New(1, together, l.settleSeveral)
	return l, nil
}

// plan finds an account's plan. That it is missing is the configuration's
// fault, not the caller's.
func (l *Ledger) plan(name, account string) (Plan, error) {
	p, ok := l.plans[name]
	if !ok {
		return Plan{}, fmt.Errorf("the account %s has the plan %s, which the configuration does not define", account, name)
	}
	return p, nil
}
