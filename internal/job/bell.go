package job

import (
	"context"
	"fmt"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
)

// driver is River's for SQLite with a bell in the place of its listener, which
// asks the database twenty times a second whether there is something new. One
// process runs the jobs of a folder and accepts them, so it knows.
type driver struct {
	*riversqlite.Driver

	bell bell
}

// GetListener implements riverdriver.Driver.
func (d *driver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener { return d.bell }

// SupportsListenNotify is false so that nothing is written for listeners.
func (d *driver) SupportsListenNotify() bool { return false }

// bell tells River's client of jobs that have been committed, in either queue. A missed
// ring costs a second: the client also looks by itself.
type bell struct{ others, films chan struct{} }

func newBell() bell { return bell{make(chan struct{}, 1), make(chan struct{}, 1)} }

func (b bell) ring(queue string) {
	rung := b.others
	if queue == films {
		rung = b.films
	}
	select {
	case rung <- struct{}{}:
	default: // it is still ringing
	}
}

// WaitForNotification implements riverdriver.Listener.
func (b bell) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	queue := river.QueueDefault
	select {
	case <-b.others:
	case <-b.films:
		queue = films
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &riverdriver.Notification{Topic: "river_insert", Payload: fmt.Sprintf(`{"queue": %q}`, queue)}, nil
}

// The rest of riverdriver.Listener is about a connection that a bell has not.

func (bell) Close(context.Context) error            { return nil }
func (bell) Connect(context.Context) error          { return nil }
func (bell) Listen(context.Context, string) error   { return nil }
func (bell) Ping(context.Context) error             { return nil }
func (bell) Schema() string                         { return "" }
func (bell) SetAfterConnectExec(string)             {}
func (bell) Unlisten(context.Context, string) error { return nil }
