package account

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/postgrestest"
)

// The connection broke while a place's COMMIT was on its way: the client had an error, gave
// the place back, of which there was nothing yet, and then it was there. Its process was
// alive, so that nobody else gave it back, and the account had one place less until that
// process was restarted.
func TestAPlaceWhoseCommitIsLate(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Ledger, context.Context, string) error{"release": (*Ledger).Release, "withdraw": (*Ledger).Withdraw} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			between := &network{deliver: make(chan struct{}), delivered: make(chan struct{})}
			l := open(t, postgrestest.Between(t, postgrestest.Database(t), between.relay), at("2026-01-15T12:00:00Z"))
			a := join(t, l, "ann", "free")
			l.look = 100 * time.Millisecond
			id := NewDetectionID()
			between.cuts.Store(true)
			err := l.Reserve(t.Context(), a, Submission{ID: id, Sensitivity: "strict"})
			require.Error(t, err)
			ended := make(chan error, 1)
			go func() { ended <- end(l, t.Context(), id) }()
			select {
			case err := <-ended:
				ended <- err
			case <-time.After(200 * time.Millisecond):
			}
			close(between.deliver)
			<-between.delivered
			require.NoError(t, <-ended)
			used, reserved, err := places(t.Context(), l, a)
			require.NoError(t, err)
			assert.Zero(t, used)
			assert.Zero(t, reserved)
		})
	}
}

// network is what lies between a process and its database.
type network struct {
	cuts      atomic.Bool   // the next connection that commits a place
	deliver   chan struct{} // until then it keeps what it has of that one
	delivered chan struct{}
	loses     bool // it in place of delivering it
}

// relay passes on what both say, but for the commit that it cuts off.
func (n *network) relay(client, server net.Conn) {
	answered := make(chan struct{})
	go func() { _, _ = io.Copy(client, server); _ = client.Close(); close(answered) }()
	places := false // are reserved in its transaction
	for buffer := make([]byte, 1<<16); ; {
		read, err := client.Read(buffer)
		said := buffer[:read]
		places = places || bytes.Contains(said, []byte("det_"))
		if places && bytes.Contains(said, []byte("commit")) && n.cuts.CompareAndSwap(true, false) {
			_ = client.Close()
			if n.loses {
				return
			}
			<-n.deliver
			_, _ = server.Write(said)
			<-answered // it has been done
			close(n.delivered)
			return
		}
		if _, failed := server.Write(said); err != nil || failed != nil {
			return
		}
	}
}
