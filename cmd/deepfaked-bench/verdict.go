package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// verdict is why the figures are not what was asked for, if so. What ends ctx while the
// report is written has cut nothing short.
func verdict(ctx context.Context, steps []step) error {
	interrupted := slices.ContainsFunc(steps, func(s step) bool { return s.result.Interrupted })
	switch {
	case interrupted && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errors.New("the time limit ended it (--limit); the report is what was measured until then")
	case interrupted:
		return errors.New("interrupted; the report is what was measured until then")
	}
	return errors.Join(descriptors(steps), cmp.Or(silence(steps), success(steps)))
}

// descriptors says that what failed was this program.
func descriptors(steps []step) error {
	for _, s := range steps {
		if n := s.result.Due().Errors[outOfFiles]; n > 0 {
			return fmt.Errorf("%s: this program could not open a connection %d times for want of file descriptors: raise their limit (ulimit -n), or lower --connections, --clients or --burst", named(s.plan), n)
		}
	}
	return nil
}

// silence says that the server no longer answers, or never did.
func silence(steps []step) error {
	if len(steps) == 0 {
		return nil
	}
	last := steps[len(steps)-1]
	switch answered := func(s step) bool { return s.result.Answered() }; {
	case !last.result.Silenced():
		return nil
	case slices.ContainsFunc(steps, answered):
		return fmt.Errorf("%s: the server stopped answering; the report holds what came before", named(last.plan))
	}
	return fmt.Errorf("%s: no request of the measurement got an answer", named(last.plan))
}

// success says that no request succeeded, or too few for a closed loop, which is there
// to tell what a server can do.
func success(steps []step) error {
	some := false
	for _, s := range steps {
		due := s.result.Due()
		if s.plan.Clients > 0 && due.Successes > 0 && 2*due.Successes < due.Requests {
			return fmt.Errorf("%s: %d of %d requests succeeded, too few to tell what the server can do", named(s.plan), due.Successes, due.Requests)
		}
		some = some || due.Successes > 0
	}
	if some {
		return nil
	}
	return errors.New("no request succeeded")
}
