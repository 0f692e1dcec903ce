package inference

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// fill has as many clients send files that take so long, each the next at once, until ctx
// ends: more than there are places leave none free.
func (v *visits) fill(ctx context.Context, clients int, req Request, takes time.Duration) {
	for i := range clients {
		v.Go(func() {
			<-time.After(takes * time.Duration(i) / time.Duration(clients))
			for v.through(ctx, req, takes) == nil {
			}
		})
	}
}

// After one film that had been broken off at its deadline all of its size were refused for as long as
// pictures held all places, though they would have waited for moments and been done in a second: the one
// that is let in every ten seconds, to see, was let in only where a place was free. So were
// files of formats that had never been seen, which are taken for the mean of all.
func TestGateFindsOutWhileItIsFull(t *testing.T) {
	t.Parallel()
	film, sound := Request{Account: "b", File: uploaded(filmHead), Size: 1000}, Request{Account: "b", File: uploaded("RIFF\x00\x00\x00\x00WAVEfmt "), Size: 1000}
	for name, comes := range map[string]Request{"seen before": film, "never seen": sound} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const parallel, deadline, takes = 8, 2 * time.Minute, time.Second
				v := &visits{gate: newTestGate(parallel, nil)}
				picture := Request{Account: "a", File: uploaded(pictureHead)}
				v.costs.observe(classOf(picture), cost{100 * time.Millisecond, 1})
				for _, size := range []int64{1000, 1000 << (2 * widest)} { // which tell nothing of each other
					soon, end := context.WithTimeout(t.Context(), deadline)
					v.pass(soon, Request{File: film.File, Size: size}, time.Hour, func(time.Duration, error) { end() })
				}
				v.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				v.fill(ctx, parallel+4, picture, 100*time.Millisecond)
				<-time.After(again)
				in, all := 0, 20
				for range all {
					soon, end := context.WithTimeout(ctx, deadline)
					if v.through(soon, comes, takes) == nil {
						in++
					}
					end()
					<-time.After(takes)
				}
				if in < all-1 {
					t.Errorf("%d of %d are let in", in, all)
				}
				cancel()
				v.Wait()
			})
		})
	}
}

// A job's film waited for as long as people sent files of one place that take long: each took the place
// of the one before it, and never were there the two that a film needs. Once it is its turn nobody slips past.
func TestFilmsOfJobsAreLetInBesideLongFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const parallel, takes = 8, 700 * time.Millisecond
		v := &visits{gate: newTestGate(parallel, func(o *DetectorOptions) { o.Wait, o.Burst = time.Hour, time.Hour })}
		picture, film := Request{Account: "a", File: uploaded(pictureHead)}, Request{Account: "b", Priority: Background, File: uploaded(filmHead)}
		v.costs.observe(classOf(picture), cost{takes, 1})
		v.costs.observe(classOf(film), cost{4 * time.Second, 1})
		ctx, cancel := context.WithCancel(t.Context())
		v.fill(ctx, parallel, picture, takes)
		<-time.After(time.Second)
		start := time.Now()
		later, end := context.WithTimeout(ctx, time.Minute)
		defer end()
		if leave, err := v.enter(later, film); err == nil {
			leave(true)
		}
		if took := time.Since(start); took > 11*time.Second { // a job has people before it for ten
			t.Errorf("the job's film waited for %v", took)
		}
		cancel()
		v.Wait()
	})
}

// The first film after the start was damaged, and ended in milliseconds. So all films were taken for
// quick, and five of one account held all places, before the pictures of others.
func TestGateLearnsNothingFromADamagedFilm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visits{gate: newTestGate(8, nil)}
		film, picture := Request{Account: "a", File: uploaded(filmHead)}, Request{Account: "b", File: uploaded(pictureHead)}
		const filmTakes, pictureTakes = 28 * time.Second, 100 * time.Millisecond
		v.costs.observe(classOf(picture), cost{pictureTakes, 1})
		leave, err := v.enter(t.Context(), film)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Millisecond)
		leave(false)
		ignore := func(time.Duration, error) {}
		for range 5 {
			v.pass(t.Context(), film, filmTakes, ignore)
		}
		<-time.After(time.Second)
		v.pass(t.Context(), picture, pictureTakes, func(took time.Duration, err error) {
			if err != nil || took > 2*pictureTakes {
				t.Errorf("the picture of another: %v, %v", took, err)
			}
		})
		v.Wait()
	})
}
