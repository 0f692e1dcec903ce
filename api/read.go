package api

import (
	_ "embed" // of the OpenAPI document
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"deepfaked/internal/account"
	"deepfaked/models"
)

// detection is the one that the path names. The error says so where there is none:
// nowhere else is that the client's mistake.
func (s *Server) detection(c *gin.Context) (account.Detection, error) {
	d, err := s.opts.Accounts.Detection(c.Request.Context(), *from(c).account, c.Param("id"))
	if errors.Is(err, account.ErrNotFound) {
		err = &problem{code: notFound, message: "There is no detection with this id."}
	}
	return d, err
}

// result answers GET /v1/results/{id}.
func (s *Server) result(c *gin.Context) {
	detail, err := detailed(c.Query("detail"))
	if err != nil {
		s.fail(c, &problem{code: invalidRequest, message: "The parameter detail must be true or false."})
		return
	}
	d, err := s.detection(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	if d.State == account.Processing {
		s.pollAfter(c, s.opts.Now().Sub(d.Created))
	}
	s.answer(c, newResult(d), d, detail)
}

// usage answers GET /v1/usage.
func (s *Server) usage(c *gin.Context) {
	u, err := s.opts.Accounts.Usage(c.Request.Context(), *from(c).account)
	if err != nil {
		s.fail(c, err)
		return
	}
	s.reply(c, http.StatusOK, newUsage(u))
}

// models answers GET /v1/models.
func (s *Server) models(c *gin.Context) {
	used := s.opts.Models()
	if used.Models == nil {
		used.Models = []models.Running{}
	}
	s.reply(c, http.StatusOK, used)
}

// reportSchema answers GET /v1/report.schema.json.
func (s *Server) reportSchema(c *gin.Context) {
	schema, err := ReportSchema()
	if err != nil {
		s.fail(c, err)
		return
	}
	s.send(c, http.StatusOK, "application/schema+json", schema)
}

// openAPI describes this interface for tools.
//
//go:embed openapi.yaml
var openAPI []byte

// document answers GET /openapi.yaml.
func (s *Server) document(c *gin.Context) {
	s.send(c, http.StatusOK, "application/yaml", openAPI)
}

// health answers GET /healthz: the process runs.
func (s *Server) health(c *gin.Context) {
	s.reply(c, http.StatusOK, gin.H{"status": "ok"})
}

// readiness answers GET /readyz: submissions can be judged.
func (s *Server) readiness(c *gin.Context) {
	if err := s.Ready(); err != nil {
		s.fail(c, &problem{code: notReady, message: "Not ready: " + err.Error() + "."})
		return
	}
	s.reply(c, http.StatusOK, gin.H{"status": "ready"})
}

// noRoute answers an unknown path.
func (s *Server) noRoute(c *gin.Context) {
	s.fail(c, &problem{code: notFound, message: "There is nothing at this path."})
}

// noMethod answers a known path with a wrong method. The router has set Allow.
func (s *Server) noMethod(c *gin.Context) {
	s.fail(c, &problem{code: methodNotAllowed,
		message: "This path does not answer this method: use " + c.Writer.Header().Get("Allow") + "."})
}
