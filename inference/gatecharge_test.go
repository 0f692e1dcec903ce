package inference

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A film that was let in to see whether it takes as long as it was thought to, an hour, and took a second,
// was charged with the hour: its account's pictures waited until others had been served for as long.
func TestGateChargesWhatAFileTook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const parallel, takes = 8, 100 * time.Millisecond
		v := &visits{gate: newTestGate(parallel, nil)}
		picture, film := Request{Account: "a", File: uploaded(pictureHead)}, Request{Account: "b", File: uploaded(filmHead)}
		v.costs.observe(classOf(picture), cost{takes, 1})
		v.costs.observe(classOf(film), cost{time.Hour, 1})
		ctx, cancel := context.WithCancel(t.Context())
		v.fill(ctx, parallel+4, picture, takes)
		<-time.After(time.Second)
		leave, err := v.enter(ctx, film)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		leave(true)
		for range 5 {
			soon, end := context.WithTimeout(ctx, 2*time.Minute)
			start := time.Now()
			leave, err := v.enter(soon, Request{Account: "b", File: picture.File})
			if took := time.Since(start); err != nil || took > time.Second {
				t.Errorf("a picture of the film's account: %v, %v", took, err)
			}
			if err == nil {
				<-time.After(takes)
				leave(true)
			}
			end()
		}
		cancel()
		v.Wait()
	})
}

// The file of a class that is let in every ten seconds, to see, was none where the books answered after
// the tenth of a second for which its place waits: once left out it counted as let in, and was refused.
func TestGateFindsOutWhereTheBooksAreSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visits{gate: newTestGate(8, nil)}
		film := Request{Account: "b", File: uploaded(filmHead), Size: 1000, Admitted: func() error { <-time.After(booking * 3 / 2); return nil }}
		v.costs.observe(classOf(film), cost{time.Hour, 1})
		other, err := v.enter(t.Context(), Request{Account: "a", File: film.File, Size: 1000 << (2 * widest)})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			soon, end := context.WithTimeout(t.Context(), 2*time.Minute)
			leave, err := v.enter(soon, film)
			if err != nil {
				t.Errorf("film %d: %v", i, err)
			} else {
				leave(false)
			}
			end()
			<-time.After(again)
		}
		other(true)
		if !v.idle() {
			t.Errorf("in the end %+v", v.lines)
		}
	})
}

// A person's file went into the line as if it would begin at once, though a job's film that waited for the
// places of others' went before it: it was told so at its deadline.
func TestGatePredictsBehindAJobThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visits{gate: newTestGate(8, nil)}
		film, picture := Request{Account: "a", File: uploaded(filmHead)}, Request{Account: "a", File: uploaded(pictureHead)}
		const filmTakes = 10 * time.Minute
		v.costs.observe(classOf(film), cost{filmTakes, 1})
		v.costs.observe(classOf(picture), cost{time.Second, 1})
		ctx, cancel := context.WithCancel(t.Context())
		ignore := func(time.Duration, error) {}
		v.pass(ctx, film, filmTakes, ignore)
		v.pass(ctx, film, filmTakes, ignore)
		v.pass(ctx, picture, filmTakes, ignore)
		synctest.Wait()
		v.pass(ctx, Request{Account: "c", Priority: Background, File: film.File}, time.Second, ignore)
		<-time.After(v.opts.BackgroundDelay + time.Second)
		soon, end := context.WithTimeout(ctx, 2*time.Minute)
		defer end()
		start := time.Now()
		_, err := v.enter(soon, Request{Account: "b", File: picture.File})
		if _, saturated := errors.AsType[*SaturatedError](err); !saturated || time.Since(start) > 0 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		cancel()
		v.Wait()
	})
}
