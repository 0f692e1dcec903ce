package inference

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// The first pictures that came where there had been films only were let into the line of quick files, and refused
// by what films take: of 24 at once as many were judged as there were places.
func TestFirstOfAKindAreNotTakenForFilms(t *testing.T) {
	t.Parallel()
	for _, films := range []time.Duration{0, 10 * time.Second, time.Minute} {
		t.Run(films.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := &visits{gate: newTestGate(8, nil)}
				if films > 0 {
					v.costs.observe(classOf(Request{File: uploaded(filmHead)}), cost{films, 1})
				}
				<-time.After(time.Hour)
				for i := range 24 {
					soon, end := context.WithTimeout(t.Context(), 30*time.Second)
					v.pass(soon, Request{Account: fmt.Sprint(i), File: uploaded(pictureHead)}, 100*time.Millisecond, func(_ time.Duration, err error) {
						end()
						if err != nil {
							t.Errorf("picture %d: %v", i, err)
						}
					})
					synctest.Wait()
				}
				v.Wait()
			})
		})
	}
}

// Of a kind never seen that was taken for quick it is known that it is not once one has been broken off, though
// films take longer.
func TestFirstOfAKindThatIsBrokenOffIsNotQuick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visits{gate: newTestGate(8, nil)}
		v.costs.observe(classOf(Request{File: uploaded(filmHead)}), cost{time.Minute, 1})
		soon, end := context.WithTimeout(t.Context(), 30*time.Second)
		defer end()
		picture := Request{File: uploaded(pictureHead)}
		if v.through(soon, picture, time.Hour) == nil {
			t.Fatal("it was judged")
		}
		if line := v.lineOf(&visit{class: classOf(picture)}); line != long {
			t.Error("it is still taken for quick")
		}
	})
}
