package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/job"
	"deepfaked/internal/spool"
	"deepfaked/preprocess"
)

// detect answers POST /v1/detect.
func (s *Server) detect(c *gin.Context) {
	form, err := s.receive(c.Request, from(c))
	defer form.close()
	if form.hasFile {
		s.spooled(from(c))
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	task := job.Task{
		ID: account.NewDetectionID(), RequestID: from(c).id, Account: from(c).account.ID,
		File: form.file, FileName: form.fileName, Declared: form.kind, Sensitivity: cmp.Or(form.sensitivity, inference.Balanced),
	}
	if form.async {
		s.detectLater(c, form, task)
		return
	}
	result, err := s.detectNow(c.Request.Context(), *from(c).account, task)
	form.close() // before the client knows that the analysis has ended
	if err != nil {
		s.fail(c, err)
		return
	}
	s.answer(c, newSyncResult(result), result, form.detail)
}

// receive makes the contract's checks in the contract's order, each as early
// as it can be made, and spools the file. The form is never nil.
func (s *Server) receive(r *http.Request, call *call) (*form, error) {
	none := &form{}
	if reason := s.Ready(); reason != nil {
		return none, &unreadyError{reason}
	}
	quota := s.opts.Accounts.Check(r.Context(), *call.account)
	exhausted := errors.Is(quota, account.ErrQuotaExceeded)
	if quota != nil && !exhausted {
		return none, quota
	}
	limit := s.opts.FileBytes + s.opts.FormBytes
	tooLong := r.ContentLength > limit
	// Only the form tells a plan without async whether it asks for it, which
	// would be the first thing wrong. A body that is too long is never read.
	if exhausted && (call.account.Plan.Async || tooLong) {
		return none, quota
	}
	if tooLong {
		return none, bodyTooLarge(s.opts.FileBytes)
	}
	leave, err := s.receiving(call.account.ID)
	if err != nil {
		return none, err
	}
	defer leave()
	call.body.limit = limit
	form := s.formReader(call.account.Plan, exhausted).read(r.Context(), r.Header, call.body)
	form.failed = s.ofRoom(form.failed)
	return form, form.verdict(call.account.Plan, quota)
}

// ofRoom is err, or what a client is told where there is no room for uploads.
func (s *Server) ofRoom(err error) error {
	if !errors.Is(err, spool.ErrUsedUp) {
		return err
	}
	return &problem{code: rateLimited, reason: spoolFull, retryAfter: s.opts.UploadRetry,
		message: "The service has as many uploads as it has room for."}
}

// formReader reads on only while the answer is open, and keeps a file only if
// it can be judged.
func (s *Server) formReader(plan account.Plan, exhausted bool) *formReader {
	r := &formReader{fileBytes: s.opts.FileBytes, create: s.opts.Spool.Create}
	if exhausted {
		r.create = nil
	}
	r.final = func(f *form) bool {
		return f.async && !plan.Async || (f.tooLarge != nil || f.failed != nil) && plan.Async
	}
	return r
}

// verdict is the first thing wrong with the form in the contract's order:
// async_not_allowed, quota_exceeded, 413, 400.
func (f *form) verdict(plan account.Plan, quota error) error {
	switch {
	case f.async && !plan.Async:
		return &problem{code: asyncNotAllowed, message: fmt.Sprintf(
			"Asynchronous processing needs a paid plan and yours is %s: leave async out, or upgrade the plan.", plan.Name)}
	case quota != nil:
		return quota
	case f.tooLarge != nil:
		return f.tooLarge
	case f.failed != nil:
		return f.failed
	case f.invalid != nil:
		return f.invalid
	case f.bytes == 0:
		return &preprocess.Error{Code: preprocess.EmptyFile, Message: "The uploaded file is empty."}
	}
	return nil
}

// detectNow analyses while the client waits. The submission has a place from
// when there is room to judge it: under a flood of requests two transactions for each
// that is refused would take the time in which others are judged. Whatever ends it other
// than a stored result takes it out of the books.
func (s *Server) detectNow(ctx context.Context, a account.Account, t job.Task) (d account.Detection, err error) {
	asked, settled := false, false // for a place; an error may hide that it was given
	var refused error              // why there is none
	defer func() {
		if asked && !settled {
			err = s.giveBack(ctx, t.ID, err)
		}
	}()
	t.Reserve = func() error {
		asked = true
		refused = s.opts.Accounts.Reserve(ctx, a, account.Submission{ID: t.ID, Sensitivity: string(t.Sensitivity)})
		asked = !isUsedUp(refused)
		return refused
	}
	analysis, cancel := context.WithTimeout(ctx, s.opts.SyncDeadline)
	defer cancel()
	outcome, err := job.Judge(analysis, s.opts.Detector, t, inference.Interactive)
	if err != nil {
		if refused == nil && (errors.Is(analysis.Err(), context.DeadlineExceeded) || errors.Is(err, inference.ErrTooLong)) {
			err = fmt.Errorf("%w: %w", job.ErrTooLate, err)
		}
		return d, err
	}
	// The room of the file is given back while the outcome is written to disk; the
	// caller, who closes it too, waits for that.
	go func() { _ = t.File.Close() }()
	d, err = s.opts.Accounts.Settle(ctx, t.ID, outcome)
	if err != nil { // it may be in the books all the same, and then this returns it
		d, err = s.opts.Accounts.Settle(ctx, t.ID, outcome)
	}
	settled = err == nil
	return d, err
}

// isUsedUp says that the books have refused a place, for certain: any other error may hide
// that they gave it.
func isUsedUp(err error) bool {
	_, daily := errors.AsType[*account.LimitError](err)
	return daily || errors.Is(err, account.ErrQuotaExceeded)
}

// detectLater hands the submission to the jobs, which have the file on disk then.
func (s *Server) detectLater(c *gin.Context, f *form, t job.Task) {
	sub := account.Submission{ID: t.ID, Async: true, Sensitivity: string(t.Sensitivity)}
	if err := s.opts.Jobs.Submit(c.Request.Context(), *from(c).account, sub, t); err != nil {
		s.fail(c, s.ofRoom(err))
		return
	}
	f.close() // the jobs open it by its name
	s.pollAfter(c, 0)
	s.reply(c, http.StatusAccepted, newAcceptance(t.ID))
}

// giveBack ends a submission that failed with err, and returns err with what
// went wrong on the way. The day counts it all the same where its file is at fault,
// or its client has left: to begin analyses and break them off must not be free.
func (s *Server) giveBack(ctx context.Context, id string, err error) error {
	end := s.opts.Accounts.Withdraw
	if _, ok := errors.AsType[*preprocess.Error](err); ok || hasGone(ctx) {
		end = s.opts.Accounts.Release
	}
	return errors.Join(err, end(ctx, id))
}

// pollAfter suggests when to ask for the result of a job of that age: a client that follows it uses
// half of its requests per minute, and has the others for something else. One that has none left
// is to ask in the next window. It learns of a result within a tenth of the time that
// the job took: ten thousand that wait would ask ten thousand times a second else.
func (s *Server) pollAfter(c *gin.Context, age time.Duration) {
	call := from(c)
	wait := min((age / 10).Truncate(time.Second), longestPoll)
	wait = max(wait, pollAfter, 2*time.Minute/time.Duration(call.account.Plan.RequestsPerMinute))
	if call.decision.Remaining == 0 {
		wait = max(wait, call.decision.Reset)
	}
	c.Header("Retry-After", strconv.Itoa(seconds(wait)))
}
