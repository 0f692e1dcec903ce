package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/spool"
	"deepfaked/preprocess"
)

// ErrTooLate says that an analysis was stopped because it took longer than it may. A
// deadline that something else missed, such as a connection to the database, is not
// the file's fault.
var ErrTooLate = errors.New("the analysis took too long")

// ErrSlow says that an upload could not be fetched within the deadline: nothing was analysed, and the store
// may be quicker at the next attempt.
var ErrSlow = errors.New("the upload was not fetched in time")

// Detector judges one file.
type Detector interface {
	Detect(ctx context.Context, r inference.Request) (inference.Result, error)
}

// Task is a submission.
type Task struct {
	ID          string // of the detection
	RequestID   string // of the submission, for the log
	Account     string // its id, for fairness between accounts
	File        *spool.File
	FileName    string                // as its client has sent it; empty: it has sent none
	Declared    preprocess.Kind       // empty: whatever the content is
	Sensitivity inference.Sensitivity // empty: balanced
	Reserve     func() error          // reserves a place for it once there is room to judge it; nil: it has one
	Begun       func()                // is called when its turn has come; may be nil
}

// kept is a task's file, a copy of which stays, where uploads are kept, from when its
// turn has come.
type kept struct {
	*spool.File

	task Task
}

// Rewind implements inference.File.
func (k kept) Rewind() (*os.File, error) {
	if k.task.Begun != nil {
		k.task.Begun()
	}
	if err := k.Keep(k.task.ID); err != nil {
		return nil, err
	}
	return k.File.Rewind()
}

// Judge has d analyse t's file and returns what the books keep of the result.
// It is the one way from a spooled file to an outcome, whether a client waits
// for it or not. Errors are those of d and of t.Reserve, unchanged in type; an answer that can't
// be true (a probability outside [0, 1], an unknown word) is an error too. The
// file stays open.
func Judge(ctx context.Context, d Detector, t Task, p inference.Priority) (account.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return account.Outcome{}, err
	}
	result, err := d.Detect(ctx, inference.Request{
		File: kept{t.File, t}, Size: t.File.Size(), Declared: t.Declared,
		Sensitivity: t.Sensitivity, Account: t.Account, Priority: p, Admitted: t.Reserve,
	})
	if err != nil {
		return account.Outcome{}, err
	}
	// A caller that has gone gets no answer, so it is not charged for one.
	if err := ctx.Err(); err != nil {
		return account.Outcome{}, err
	}
	if err := plausible(result); err != nil {
		return account.Outcome{}, err
	}
	result.Report.FileName, result.Report.Size, result.Report.SHA256 = t.FileName, t.File.Size(), t.File.SHA256()
	report, err := json.Marshal(result.Report)
	if err != nil {
		return account.Outcome{}, fmt.Errorf("encode the report: %w", err)
	}
	return account.Outcome{
		Kind: string(result.Kind), Verdict: string(result.Verdict),
		Confidence: result.Confidence, Report: report,
	}, nil
}

// plausible keeps what the contract rules out from being stored and charged.
func plausible(r inference.Result) error {
	switch {
	case r.Verdict != inference.Real && r.Verdict != inference.Fake:
		return fmt.Errorf("the detector gave the verdict %q", r.Verdict)
	case r.Kind != preprocess.Image && r.Kind != preprocess.Audio && r.Kind != preprocess.Video:
		return fmt.Errorf("the detector gave the media type %q", r.Kind)
	case math.IsNaN(r.Confidence) || r.Confidence < 0 || r.Confidence > 1:
		return fmt.Errorf("the detector gave the confidence %v", r.Confidence)
	}
	return nil
}
