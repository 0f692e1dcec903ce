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

// bell tells River's client of jobs that have been committed. A missed ring costs
// a second: the client also looks by itself.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default: // it is still ringing
	}
}

// WaitForNotification implements riverdriver.Listener.
func (b bell) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	select {
	case <-b:
		return &riverdriver.Notification{Topic: "river_insert", Payload: fmt.Sprintf(`{"queue": %q}`, river.QueueDefault)}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// The rest of riverdriver.Listener is about a connection that a bell has not.

func (bell) Close(context.Context) error            { return nil }
func (bell) Connect(context.Context) error          { return nil }
func (bell) Listen(context.Context, string) error   { return nil }
func (bell) Ping(context.Context) error             { return nil }
func (bell) Schema() string                         { return "" }
func (bell) SetAfterConnectExec(string)             {}
func (bell) Unlisten(context.Context, string) error { return nil }
