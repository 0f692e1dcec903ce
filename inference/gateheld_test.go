package inference

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A file had its place while its account's row in the books was waited for: eight of an account that
// another process had locked kept everybody's out for as long. Now they are left out until the books have
// answered, and come anew then.
func TestGateHasNoPlaceWaitForTheBooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const parallel, locked, takes = 2, 15 * time.Second, time.Second
		v := &visits{gate: newTestGate(parallel, nil)}
		refused := errors.New("used up")
		var mu sync.Mutex
		var ended []time.Duration
		for i := range parallel + 1 {
			v.pass(t.Context(), Request{Account: "locked", Admitted: func() error {
				<-time.After(locked)
				if i == 0 {
					return refused
				}
				return nil
			}}, takes, func(took time.Duration, err error) {
				if i == 0 && !errors.Is(err, refused) || i > 0 && err != nil {
					t.Errorf("file %d: %v", i, err)
				}
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, took)
			})
		}
		synctest.Wait()
		for range int(locked/takes) - 1 {
			for range parallel {
				v.pass(t.Context(), Request{Account: "other"}, takes, func(took time.Duration, err error) {
					if took > takes+booking || err != nil {
						t.Errorf("another's took %v, %v", took, err)
					}
				})
			}
			<-time.After(takes)
		}
		v.Wait()
		if len(ended) != parallel+1 || ended[len(ended)-1] > locked+2*takes {
			t.Errorf("those of the account that was locked have ended after %v", ended)
		}
		if v.running != 0 || !v.idle() {
			t.Errorf("in the end %d places are taken: %+v", v.running, v.lines)
		}
	})
}
