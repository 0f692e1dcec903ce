package api

import (
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"
)

// routes is everything the server answers, and what each request goes through.
func (s *Server) routes() (http.Handler, error) {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	r.RemoteIPHeaders = []string{forwardedFor} // gin would also believe X-Real-IP, which proxies pass on as clients send it
	if err := r.SetTrustedProxies(s.opts.TrustedProxies); err != nil {
		return nil, fmt.Errorf("trusted proxies: %w", err)
	}
	r.Use(s.begin, s.linger, s.access, s.recover)

	read(r, "/healthz", s.health)
	read(r, "/readyz", s.readiness)
	read(r, "/openapi.yaml", s.authenticate, s.limit, s.document)

	read(r, "/.well-known/deepfaked.pem", s.authenticate, s.limit, s.publicKey)
	read(r, "/v1/report.schema.json", s.authenticate, s.limit, s.reportSchema)

	// Without a route or with a wrong method a key is optional, but counts.
	r.NoRoute(s.authenticate, s.limit, s.noRoute)
	r.NoMethod(s.authenticate, s.limit, s.noMethod)

	v1 := r.Group("/v1", s.authenticate, s.limit, s.requireKey)
	v1.POST("/detect", s.detect)
	read(v1, "/results/:id", s.result)
	read(v1, "/results/:id/report", s.report)
	read(v1, "/results/:id/report.html", s.reportPage)
	read(v1, "/usage", s.usage)
	read(v1, "/models", s.models)
	return r, nil
}

// read answers GET, and HEAD with the same headers, as HTTP wants of whatever can be read
// (RFC 9110, section 9.1).
func read(at gin.IRoutes, path string, handlers ...gin.HandlerFunc) {
	at.GET(path, handlers...)
	at.HEAD(path, handlers...)
}
