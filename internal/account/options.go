package account

import (
	"errors"
	"fmt"
	"time"

	"deepfaked/internal/store"
)

// Options chooses the plans on offer.
type Options struct {
	Plans []Plan
	// Now is the clock: all times, periods, days and what Purge deletes follow it. Where
	// several processes keep the books it is the same for all (store.Process.Now): one
	// that is wrong could delete everybody's results.
	Now func() time.Time
	// Process is who holds the places of synchronous detections; nil where none is
	// reserved, and nothing is recovered.
	Process *store.Process
	// Alone says that no other process reserves places in the store, a SQLite folder
	// that this one has claimed: it holds those of synchronous scans in memory.
	Alone bool
}

// DefaultOptions are the contract's plans by the system's clock.
func DefaultOptions() Options {
	return Options{Plans: DefaultPlans(), Now: time.Now}
}

// Validate names the first field that makes no sense.
func (o Options) Validate() error {
	if len(o.Plans) == 0 {
		return errors.New("plans: there must be at least one")
	}
	if o.Now == nil {
		return errors.New("account: Now must be set")
	}
	names := make(map[string]bool, len(o.Plans))
	for _, p := range o.Plans {
		if err := p.Validate(); err != nil {
			return err
		}
		if names[p.Name] {
			return fmt.Errorf("plans.%s is defined twice", p.Name)
		}
		names[p.Name] = true
	}
	return nil
}
