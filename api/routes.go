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

	r.GET("/healthz", s.health)
	r.HEAD("/healthz", s.health)
	r.GET("/readyz", s.readiness)
	r.HEAD("/readyz", s.readiness)

	r.GET("/openapi.yaml", s.authenticate, s.limit, s.document)

	// Without a route or with a wrong method a key is optional, but counts.
	r.NoRoute(s.authenticate, s.limit, s.noRoute)
	r.NoMethod(s.authenticate, s.limit, s.noMethod)

	v1 := r.Group("/v1", s.authenticate, s.limit, s.requireKey)
	v1.POST("/detect", s.detect)
	v1.GET("/results/:id", s.result)
	v1.GET("/results/:id/report", s.report)
	v1.GET("/usage", s.usage)
	v1.GET("/models", s.models)
	return r, nil
}
