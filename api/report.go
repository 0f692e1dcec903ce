package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"deepfaked/internal/account"
	"deepfaked/internal/report"
)

// report answers GET /v1/results/{id}/report.
func (s *Server) report(c *gin.Context) {
	doc, err := s.reported(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	s.reply(c, http.StatusOK, doc)
}

// reported is the report of the detection that the path names.
func (s *Server) reported(c *gin.Context) (*report.Document, error) {
	d, err := s.detection(c)
	switch {
	case err != nil:
		return nil, err
	case d.State == account.Processing:
		return nil, &problem{code: notFound, message: "There is no report yet: the detection is still processing."}
	case len(d.Report) == 0:
		return nil, &problem{code: notFound, message: "There is no report: the detection failed."}
	}
	return report.Of(d)
}
