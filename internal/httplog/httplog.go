package httplog

import (
	"bytes"
	"io"
	"log"
	"log/slog"
	"time"

	"golang.org/x/time/rate"
)

// acceptError begins what net/http says each time that it can't accept a connection. It waits
// before it tries again, but anew from 5 ms once one has been accepted.
const acceptError = "http: Accept error: "

// New is for http.Server.ErrorLog. What clients cause is for debugging; that none can connect is
// a warning, once a minute at most.
func New(logger *slog.Logger) *log.Logger {
	return log.New(&writer{
		logger: logger, rest: slog.NewLogLogger(logger.Handler(), slog.LevelDebug).Writer(), rarely: rate.Sometimes{Interval: time.Minute},
	}, "", 0)
}

type writer struct {
	logger *slog.Logger
	rest   io.Writer
	rarely rate.Sometimes
}

// Write implements io.Writer.
func (w *writer) Write(line []byte) (int, error) {
	told := false
	if why, ok := bytes.CutPrefix(line, []byte(acceptError)); ok {
		w.rarely.Do(func() {
			told = true
			w.logger.Warn("connections can't be accepted for now", "error", string(bytes.TrimSpace(why)))
		})
	}
	if told {
		return len(line), nil
	}
	return w.rest.Write(line)
}
