package account

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Usage says what the account has used of its plan in the current period.
func (l *Ledger) Usage(ctx context.Context, a Account) (Usage, error) {
	start := a.Plan.PeriodStart(l.now(), a.Created)
	ctx, cancel := context.WithTimeout(ctx, l.look)
	defer cancel()
	u := Usage{Plan: a.Plan.Name, Limit: a.Plan.Scans, PeriodStart: start}
	err := l.store.Reader().QueryRowContext(ctx, usedIn, a.ID, micros(start)).Scan(&u.Used)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Usage{}, fmt.Errorf("read usage: %w", err)
	}
	u.Remaining = max(0, u.Limit-u.Used)
	return u, nil
}

// usedIn is what Usage reads.
const usedIn = `SELECT count FROM scans WHERE account_id = $1 AND period = $2`

// Detection reads a detection of the account: an asynchronous one in any state,
// a synchronous one once it is complete. The error is ErrNotFound for every
// other id, whether it is another account's or nobody's.
func (l *Ledger) Detection(ctx context.Context, a Account, id string) (Detection, error) {
	if !text(id) {
		return Detection{}, fmt.Errorf("read a detection: %w", ErrNotFound)
	}
	ctx, cancel := context.WithTimeout(ctx, l.look)
	defer cancel()
	d, err := detection(ctx, l.store.Reader(), byIDOf, id, a.ID)
	if err != nil {
		return Detection{}, fmt.Errorf("read %s: %w", id, err)
	}
	if !d.Async && d.State != Complete {
		return Detection{}, fmt.Errorf("read %s: %w", id, ErrNotFound)
	}
	return d, nil
}

const byID = `
	SELECT id, mode = 'async', state, sensitivity, kind, verdict, confidence, report, error, created_at, completed_at
	FROM detections WHERE id = $1`

// byIDOf is what a client polls with.
const byIDOf = byID + ` AND account_id = $2`

// detection reads the one row that query finds.
func detection(ctx context.Context, q querier, query string, args ...any) (Detection, error) {
	var d Detection
	var kind, verdict, report, message sql.NullString
	var confidence sql.NullFloat64
	var created int64
	var completed sql.NullInt64
	err := q.QueryRowContext(ctx, query, args...).Scan(&d.ID, &d.Async, &d.State, &d.Sensitivity,
		&kind, &verdict, &confidence, &report, &message, &created, &completed)
	if errors.Is(err, sql.ErrNoRows) {
		return Detection{}, ErrNotFound
	}
	if err != nil {
		return Detection{}, err
	}
	d.Kind, d.Verdict, d.Confidence, d.Error = kind.String, verdict.String, confidence.Float64, message.String
	if report.Valid {
		d.Report = json.RawMessage(report.String)
	}
	d.Created, d.Completed = fromMicros(created), fromNullMicros(completed)
	return d, nil
}

// nullJSON stores a report that is absent as NULL, and others as text.
func nullJSON(report json.RawMessage) sql.NullString {
	return sql.NullString{String: string(report), Valid: len(report) > 0}
}

// text reports whether a database takes s for text: PostgreSQL takes neither a
// zero byte nor what is not UTF-8.
func text(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// plain makes text of s.
func plain(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
