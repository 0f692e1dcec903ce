package preprocess_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestAChildServesOnWithoutRelief: a child that had served as many files as it may
// was given up although no other one started, and there was none left.
func TestAChildServesOnWithoutRelief(t *testing.T) {
	t.Parallel()
	var log lines
	opts := poolOptions(t, "unrelieved")
	opts.Children, opts.Recycle = 1, 2
	opts.Env = append(opts.Env, markVariable+"="+filepath.Join(t.TempDir(), "mark"))
	opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	pool := newPool(t, opts)
	for log.count("serves on") < 2 { // which the test's time limit bounds
		if _, err := decodeBytes(t, pool, tinyPNG(t), ""); err != nil {
			t.Fatal("after a relief that did not start:", err)
		}
	}
}

// lines is a log that is read while it is written.
type lines struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(part string) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Count(l.text.String(), part)
}
