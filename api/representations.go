package api

import (
	"strconv"
	"strings"

	"deepfaked/internal/account"
	"deepfaked/internal/report"
)

// Representations of a detection: exactly the fields of the contract's section
// 2.1, each in a type of its own.
type (
	syncResult struct {
		ID         string      `json:"id"`
		Verdict    string      `json:"verdict"`
		Confidence probability `json:"confidence"`
		MediaType  string      `json:"media_type"`
		CreatedAt  timestamp   `json:"created_at"`
	}
	acceptance struct {
		ID      string `json:"id"`
		Status  string `json:"status"`
		PollURL string `json:"poll_url"`
	}
	processingResult struct {
		ID        string    `json:"id"`
		Status    string    `json:"status"`
		PollURL   string    `json:"poll_url"`
		CreatedAt timestamp `json:"created_at"`
	}
	completeResult struct {
		ID          string      `json:"id"`
		Status      string      `json:"status"`
		Verdict     string      `json:"verdict"`
		Confidence  probability `json:"confidence"`
		MediaType   string      `json:"media_type"`
		CreatedAt   timestamp   `json:"created_at"`
		CompletedAt timestamp   `json:"completed_at"`
	}
	failedResult struct {
		ID        string    `json:"id"`
		Status    string    `json:"status"`
		Error     string    `json:"error"`
		CreatedAt timestamp `json:"created_at"`
	}
	usageObject struct {
		Plan           string    `json:"plan"`
		ScansUsed      int       `json:"scans_used"`
		ScansLimit     int       `json:"scans_limit"`
		ScansRemaining int       `json:"scans_remaining"`
		PeriodStart    timestamp `json:"period_start"`
	}
)

// pollURL is the relative path of a detection's result.
func pollURL(id string) string { return "/v1/results/" + id }

func newSyncResult(d account.Detection) syncResult {
	return syncResult{
		ID: d.ID, Verdict: d.Verdict, Confidence: probability(d.Confidence),
		MediaType: d.Kind, CreatedAt: timestamp(d.Created),
	}
}

func newAcceptance(id string) acceptance {
	return acceptance{ID: id, Status: string(account.Processing), PollURL: pollURL(id)}
}

// newResult is the representation of d's state.
func newResult(d account.Detection) any {
	status := string(d.State)
	switch d.State {
	case account.Complete:
		return completeResult{
			ID: d.ID, Status: status, Verdict: d.Verdict, Confidence: probability(d.Confidence),
			MediaType: d.Kind, CreatedAt: timestamp(d.Created), CompletedAt: timestamp(d.Completed),
		}
	case account.Failed:
		return failedResult{ID: d.ID, Status: status, Error: d.Error, CreatedAt: timestamp(d.Created)}
	default:
		return processingResult{ID: d.ID, Status: status, PollURL: pollURL(d.ID), CreatedAt: timestamp(d.Created)}
	}
}

func newUsage(u account.Usage) usageObject {
	return usageObject{
		Plan: u.Plan, ScansUsed: u.Used, ScansLimit: u.Limit,
		ScansRemaining: u.Remaining, PeriodStart: timestamp(u.PeriodStart),
	}
}

// timestamp is RFC 3339 in UTC with milliseconds.
type timestamp = report.Timestamp

// probability is always written as a float: 1.0, not 1, for readers that tell
// the two apart.
type probability float64

// MarshalJSON implements json.Marshaler.
func (p probability) MarshalJSON() ([]byte, error) {
	s := strconv.FormatFloat(float64(p), 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return []byte(s), nil
}
