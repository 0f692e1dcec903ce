package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"deepfaked/inference"
	"deepfaked/internal/account"
)

// detail is what detail=true adds to a finished result, from its report. Without it a result has the contract's fields alone.
type detail struct {
	ProbabilityFake float64              `json:"probability_fake"`
	Threshold       float64              `json:"threshold"`
	Assessment      inference.Assessment `json:"assessment"`
	Reasons         []inference.Reason   `json:"reasons"`
}

// Representations with detail.
type (
	detailedSyncResult struct {
		syncResult
		detail
	}
	detailedCompleteResult struct {
		completeResult
		detail
	}
)

var errNoBoolean = errors.New("neither true nor false")

// detailed understands the value of detail; an empty one counts as left out.
func detailed(value string) (bool, error) {
	switch strings.ToLower(value) {
	case "true":
		return true, nil
	case "false", "":
		return false, nil
	}
	return false, errNoBoolean
}

// answer writes the representation of d, with detail where it was asked for and d is complete.
func (s *Server) answer(c *gin.Context, representation any, d account.Detection, detailed bool) {
	if detailed && d.State == account.Complete {
		var more detail
		if err := json.Unmarshal(d.Report, &more); err != nil {
			s.fail(c, fmt.Errorf("read the report of %s: %w", d.ID, err))
			return
		}
		if more.Reasons == nil {
			more.Reasons = []inference.Reason{}
		}
		switch r := representation.(type) {
		case syncResult:
			representation = detailedSyncResult{r, more}
		case completeResult:
			representation = detailedCompleteResult{r, more}
		}
	}
	s.reply(c, http.StatusOK, representation)
}
