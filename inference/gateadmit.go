package inference

import (
	"context"
	"time"
)

// Whether a file is to be judged, which its caller is asked while it waits for its turn.

// booking is for how long a place, or a turn, waits for the books, which a file's account is
// looked up in. They may be locked for the account, and others would wait with it.
const booking = 100 * time.Millisecond

// admit asks whether the file is to be judged. One that was left out meanwhile comes anew.
func (g *gate) admit(ctx context.Context, req Request, v *visit) error {
	if req.Admitted == nil {
		return nil
	}
	slow := time.AfterFunc(booking, func() { g.leaveOut(v) })
	err := req.Admitted()
	slow.Stop()
	switch out := g.heard(v); {
	case out && err == nil:
		return g.queue(ctx, v)
	case !out && err != nil:
		g.abandon(v)
	}
	return err
}

// heard says that v need not be left out any more, and whether it was.
func (g *gate) heard(v *visit) (out bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v.admitted = true
	return v.out
}

// leaveOut takes v out, or its place back.
func (g *gate) leaveOut(v *visit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if v.admitted || v.late != nil {
		return
	}
	now := time.Now()
	if v.out = true; v.entry.rows == 0 {
		g.takeBack(v, now)
		v.turn = make(chan struct{})
	} else {
		g.drop(&v.entry)
	}
	v.entry.rows = 1
	g.dispatch(now)
}

// takeBack takes the place of v, which has not used it: as if its turn had not come.
func (g *gate) takeBack(v *visit, now time.Time) {
	g.count(v, -1, now)
	g.turns.charge(v.entry.payer, -v.entry.cost)
	if g.tried[v.class].Equal(v.start) {
		g.tried[v.class] = v.last
	}
}
