// Command gin is the plain way to serve the built-in models: a handler that decodes a
// file and runs each model once on its rows. It is measured beside the service.
package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"deepfaked/inference/ort"
)

// maxUpload bounds what is read of a file.
const maxUpload = 16 << 20

func main() {
	if err := serve(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "gin:", err)
		os.Exit(1)
	}
}

// number is that of an environment variable, which must be set.
func number(name string) (int, error) {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return 0, fmt.Errorf("the environment variable %s must be a number: %w", name, err)
	}
	return n, nil
}

func serve() error {
	var settings [3]int
	for i, name := range []string{"PEER_PORT", "PEER_WORKERS", "PEER_THREADS"} {
		n, err := number(name)
		if err != nil {
			return err
		}
		settings[i] = n
	}
	opts := ort.DefaultOptions()
	opts.Provider, opts.Sessions, opts.IntraOpThreads = ort.Provider(cmp.Or(os.Getenv("PEER_PROVIDER"), string(ort.CPU))), settings[1], settings[2]
	opts.Logger = slog.New(slog.DiscardHandler)
	j, err := newJury(opts)
	if err != nil {
		return err
	}
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.POST("/predict", j.predict)
	server := &http.Server{Addr: fmt.Sprintf("127.0.0.1:%d", settings[0]), Handler: engine, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

func (j *jury) predict(c *gin.Context) {
	head, err := c.FormFile("file")
	if err != nil || head.Size > maxUpload {
		c.JSON(http.StatusBadRequest, gin.H{"error": "there is no file that can be read"})
		return
	}
	f, err := head.Open()
	if err != nil {
		c.JSON(http.StatusInternalServerError, gin.H{"error": err.Error()})
		return
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(f)
	if err != nil {
		c.JSON(http.StatusInternalServerError, gin.H{"error": err.Error()})
		return
	}
	a, err := j.judge(content)
	if err != nil {
		c.JSON(http.StatusUnprocessableEntity, gin.H{"error": err.Error()})
		return
	}
	c.JSON(http.StatusOK, a)
}
