package api

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"deepfaked/internal/account"
	"deepfaked/internal/report"
)

// report answers GET /v1/results/{id}/report.
func (s *Server) report(c *gin.Context) {
	c.Header("Vary", "Accept")
	if prefersHTML(c.GetHeader("Accept")) {
		s.reportPage(c)
		return
	}
	doc, err := s.reported(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	s.reply(c, http.StatusOK, doc)
}

// reportPage answers GET /v1/results/{id}/report.html.
func (s *Server) reportPage(c *gin.Context) {
	doc, err := s.reported(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	page, err := doc.Page()
	if err != nil {
		s.fail(c, err)
		return
	}
	c.Header("Content-Security-Policy", report.PagePolicy+"; frame-ancestors 'none'")
	c.Header("Referrer-Policy", "no-referrer")
	s.send(c, http.StatusOK, "text/html; charset=utf-8", page)
}

// prefersHTML says whether a client asks for a page rather than for JSON, as browsers do. By itself a report is JSON.
func prefersHTML(accept string) bool {
	page, data := 0.0, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		quality := 1.0
		if q, ok := params["q"]; ok {
			if quality, err = strconv.ParseFloat(q, 64); err != nil {
				continue
			}
		}
		switch media {
		case "text/html", "application/xhtml+xml":
			page = max(page, quality)
		case "application/json":
			data = max(data, quality)
		}
	}
	return page > data
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
	doc, err := report.Of(d)
	if err == nil && s.opts.Signer != nil {
		err = doc.Sign(s.opts.Signer)
	}
	return doc, err
}

// publicKey answers GET /.well-known/deepfaked.pem: what the signatures of reports are checked with.
func (s *Server) publicKey(c *gin.Context) {
	if s.opts.Signer == nil {
		s.fail(c, &problem{code: notFound, message: "This service does not sign reports."})
		return
	}
	s.send(c, http.StatusOK, "application/x-pem-file", s.opts.Signer.PublicKey().PEM())
}
