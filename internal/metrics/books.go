package metrics

import (
	"context"
	"errors"
	"slices"
	"time"

	"deepfaked/internal/account"
	"deepfaked/internal/job"
)

// Event is what came of something that the books were asked for.
type Event string

// The events of the books.
const (
	Reserved  Event = "reserved"  // a place is held
	Counted   Event = "counted"   // the detection is stored, and its place a scan
	Failed    Event = "failed"    // a job has failed, and its place is free
	Released  Event = "released"  // an analysis has failed by its file or its client, and its place is free
	Withdrawn Event = "withdrawn" // an analysis has failed by the service, or there was no room for it after all
	Exhausted Event = "exhausted" // refused: the allowance is used up
	Daily     Event = "daily"     // refused: the daily limit is used up
	Broken    Event = "error"     // the books could not be written
)

// Books is a ledger that tells what it does.
type Books struct {
	*account.Ledger

	metrics *Metrics
}

// Books wraps the ledger.
func (m *Metrics) Books(l *account.Ledger) *Books { return &Books{l, m} }

// wrote counts what came of a transaction, or a place in memory, that began then.
func (b *Books) wrote(began time.Time, event Event, err error) {
	b.metrics.observe(Store, time.Since(began))
	if err != nil {
		b.refused(err)
		return
	}
	b.metrics.quota.WithLabelValues(string(event)).Inc()
}

// refused counts what was asked for in vain, unless it is the business of others that
// it was.
func (b *Books) refused(err error) {
	if event := refusal(err); event != "" {
		b.metrics.quota.WithLabelValues(string(event)).Inc()
	}
}

// wroteAll counts n that went together; each took as long as all.
func (b *Books) wroteAll(n int, began time.Time, event Event, err error) {
	if n > 1 && err != nil && !account.IsUnknown(err) {
		return
	}
	for range n {
		b.wrote(began, event, err)
	}
}

// elsewhere are errors that are no fault of the books.
var elsewhere = []error{job.ErrFull, job.ErrShare, context.Canceled, account.ErrSuperseded, account.ErrComplete, account.ErrFailed, account.ErrNotFound}

// refusal is empty where nothing is wrong with the books: the queue was full, the
// client has left, or the detection had ended already or is another process's.
func refusal(err error) Event {
	var daily *account.LimitError
	over := func(e error) bool { return errors.Is(err, e) }
	switch {
	case slices.ContainsFunc(elsewhere, over):
		return ""
	case errors.As(err, &daily):
		return Daily
	case errors.Is(err, account.ErrQuotaExceeded):
		return Exhausted
	}
	return Broken
}

// Check counts only refusals: what is let through is counted by Reserve.
func (b *Books) Check(ctx context.Context, a account.Account) error {
	err := b.Ledger.Check(ctx, a)
	if err != nil {
		b.refused(err)
	}
	return err
}

// Reserve is the ledger's.
func (b *Books) Reserve(ctx context.Context, a account.Account, s account.Submission) error {
	began := time.Now()
	err := b.Ledger.Reserve(ctx, a, s)
	b.wrote(began, Reserved, err)
	return err
}

// Settle is the ledger's.
func (b *Books) Settle(ctx context.Context, id string, o account.Outcome) (account.Detection, error) {
	began := time.Now()
	d, err := b.Ledger.Settle(ctx, id, o)
	b.wrote(began, Counted, err)
	return d, err
}

// ReserveAll is the ledger's. Several that are refused are each tried alone, and
// told of then, unless nobody knows what has come of them.
func (b *Books) ReserveAll(ctx context.Context, all []account.Request, also ...account.Step) error {
	began := time.Now()
	err := b.Ledger.ReserveAll(ctx, all, also...)
	b.wroteAll(len(all), began, Reserved, err)
	return err
}

// SettleAll is the ledger's, told of like ReserveAll.
func (b *Books) SettleAll(ctx context.Context, all []account.Ended, also ...account.Step) error {
	began := time.Now()
	err := b.Ledger.SettleAll(ctx, all, also...)
	b.wroteAll(len(all), began, Counted, err)
	return err
}

// Fail is the ledger's.
func (b *Books) Fail(ctx context.Context, id, message string, also ...account.Step) error {
	began := time.Now()
	err := b.Ledger.Fail(ctx, id, message, also...)
	b.wrote(began, Failed, err)
	return err
}

// Release is the ledger's.
func (b *Books) Release(ctx context.Context, id string) error {
	began := time.Now()
	err := b.Ledger.Release(ctx, id)
	b.wrote(began, Released, err)
	return err
}

// Withdraw is the ledger's.
func (b *Books) Withdraw(ctx context.Context, id string) error {
	began := time.Now()
	err := b.Ledger.Withdraw(ctx, id)
	b.wrote(began, Withdrawn, err)
	return err
}
