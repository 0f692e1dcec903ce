package account

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/postgrestest"
)

// silent is a proxy before the database that forgets connections without a word.
type silent struct {
	forgets atomic.Bool
	mu      sync.Mutex
	ends    []net.Conn
}

// restart serves again, as a proxy that comes back does: without the connections from before,
// of which what was asked meanwhile (to end what runs there, too) would wait for its answer.
func (s *silent) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgets.Store(false)
	for _, end := range s.ends {
		_ = end.Close()
	}
}

func (s *silent) relay(client, server net.Conn) {
	s.mu.Lock()
	s.ends = append(s.ends, client, server)
	s.mu.Unlock()
	pass := func(to, from net.Conn) {
		for buffer := make([]byte, 1<<16); ; {
			read, err := from.Read(buffer)
			if err != nil {
				_, _ = to.Close(), from.Close()
				return
			}
			if !s.forgets.Load() {
				_, _ = to.Write(buffer[:read])
			}
		}
	}
	go pass(client, server)
	pass(server, client)
}

// Requests had an end where connections were lost without a word, and what nobody waits for had
// none: behind it stood the ends of all detections and whatever other processes had left, without a line in
// the log, and all who wanted jobs accepted.
func TestConnectionsThatAreLostWithoutAWord(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(context.Context, *Ledger, Account) error{
		"reserve": func(ctx context.Context, l *Ledger, a Account) error {
			return l.Reserve(ctx, a, Submission{ID: NewDetectionID(), Sensitivity: "strict"})
		},
		"accept a job": func(ctx context.Context, l *Ledger, a Account) error {
			return l.ReserveAll(ctx, []Request{{a, Submission{ID: NewDetectionID(), Async: true, Sensitivity: "strict"}}})
		},
		"recover": func(ctx context.Context, l *Ledger, _ Account) error { _, err := l.Recover(ctx); return err },
		"purge":   func(ctx context.Context, l *Ledger, _ Account) error { _, err := l.Purge(ctx, time.Hour); return err },
		"retry": func(ctx context.Context, l *Ledger, _ Account) error {
			l.owed.add("det_x", l.withdrawal("det_x"))
			_, err := l.Retry(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			between := &silent{}
			l := open(t, postgrestest.Between(t, postgrestest.Database(t), between.relay), at("2026-01-15T12:00:00Z"))
			a := join(t, l, "ann", "free")
			l.work, l.look = 200*time.Millisecond, 200*time.Millisecond
			between.forgets.Store(true)
			patient, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.Error(t, do(patient, l, a))
			assert.NoError(t, patient.Err())
			between.restart()
		})
	}
}
