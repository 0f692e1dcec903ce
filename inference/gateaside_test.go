package inference

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// Of two accounts with films that are done in time one by one, not side by side, the one that sent each as the one
// before was answered had all judged, and the other, which came back when it was told to, none.
func TestFilmsThatAreDoneOneByOneAreSharedAlike(t *testing.T) {
	t.Parallel()
	for _, deadline := range []time.Duration{1500 * time.Millisecond, 12 * time.Second, 40 * time.Second} {
		for _, share := range []time.Duration{55, 78} { // percent of the deadline that a film takes
			t.Run(fmt.Sprint(deadline, int(share)), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					v := &visits{gate: newTestGate(8, func(o *DetectorOptions) { o.Side = 1 })}
					machine, takes := &shared{side: 1}, deadline*share/100
					ctx, cancel := context.WithTimeout(t.Context(), 50*deadline)
					defer cancel()
					var judged, late [2]int
					for i := range judged {
						random := rand.New(rand.NewPCG(uint64(i), uint64(deadline+share)))
						v.Go(func() {
							<-time.After(time.Duration(i) * 5 * takes / 2)
							for ctx.Err() == nil {
								soon, end := context.WithTimeout(ctx, deadline)
								err := v.judge(soon, Request{Account: fmt.Sprint(i), File: uploaded(filmHead)}, machine, takes)
								end()
								upload := time.Duration(20+random.IntN(80)) * time.Millisecond
								if told, refused := errors.AsType[*SaturatedError](err); refused {
									upload += told.RetryAfter
								} else if err != nil {
									late[i]++
								} else {
									judged[i]++
								}
								<-time.After(upload)
							}
						})
					}
					v.Wait()
					t.Logf("%v judged, %v late", judged, late)
					can := int(50 * deadline / takes)
					if judged[0]+judged[1] < can*8/10 || min(judged[0], judged[1]) < can/4 || late[0]+late[1] > 4 {
						t.Errorf("%v judged of %d, %v late", judged, can, late)
					}
				})
			})
		}
	}
}

// A film that waits for another to end is let in then. Others, of its account too, are let in meanwhile.
func TestPicturesGoPastAFilmThatWaitsForAnotherToEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visits{gate: newTestGate(8, func(o *DetectorOptions) { o.Side = 1 })}
		defer v.Wait()
		const filmTakes, pictureTakes, deadline = 60 * time.Second, 700 * time.Millisecond, 100 * time.Second
		film, picture := uploaded(filmHead), uploaded(pictureHead)
		v.costs.observe(classOf(Request{File: film}), cost{filmTakes, 1})
		v.costs.observe(classOf(Request{File: picture}), cost{pictureTakes, 1})
		send := func(account string, file *upload, takes, least, most time.Duration) {
			soon, end := context.WithTimeout(t.Context(), deadline)
			v.pass(soon, Request{Account: account, File: file}, takes, func(took time.Duration, err error) {
				end()
				if err != nil || took < least || took > most {
					t.Errorf("file of %s: done after %v, %v; want %v to %v", account, took, err, least, most)
				}
			})
			synctest.Wait()
		}
		send("a", film, filmTakes, filmTakes, filmTakes)
		<-time.After(filmTakes / 2)
		_, err := v.enter(deadlined(t, deadline), Request{Account: "b", File: film})
		told, refused := errors.AsType[*SaturatedError](err)
		if !refused || told.RetryAfter < filmTakes/2-v.opts.Burst || told.RetryAfter >= filmTakes/2 {
			t.Fatalf("%v, want it told to come back before the film that runs ends", err)
		}
		<-time.After(told.RetryAfter)
		left := filmTakes/2 - told.RetryAfter
		send("b", film, filmTakes, filmTakes+left, filmTakes+left)
		for i := range 4 {
			send([]string{"b", "c"}[i%2], picture, pictureTakes, pictureTakes, pictureTakes)
			<-time.After(pictureTakes)
		}
		v.Wait()
		if !v.idle() {
			t.Errorf("in the end %+v", v.lines)
		}
	})
}

// A job behind a person's film that waits for another film to end is let in, where there are places, once it has waited for
// as long as jobs are to. Nobody looked then, and jobs with films or slow pictures stood still until the film that ran
// had ended, for minutes.
func TestAJobGoesPastAFilmThatWaitsOnceItHasWaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visits{gate: newTestGate(8, func(o *DetectorOptions) { o.Side, o.Wait, o.Burst = 1, time.Hour, time.Hour })}
		const filmTakes, pictureTakes = 60 * time.Second, 700 * time.Millisecond
		film, picture := uploaded(filmHead), uploaded(pictureHead)
		v.costs.observe(classOf(Request{File: film}), cost{filmTakes, 1})
		v.costs.observe(classOf(Request{File: picture}), cost{pictureTakes, 1})
		send := func(ctx context.Context, req Request, takes, want time.Duration) {
			v.pass(ctx, req, takes, func(took time.Duration, err error) {
				if err != nil || took != want {
					t.Errorf("file of %s: done after %v, %v; want %v", req.Account, took, err, want)
				}
			})
			synctest.Wait()
		}
		send(t.Context(), Request{Account: "a", File: film}, filmTakes, filmTakes)
		<-time.After(filmTakes / 2)
		send(deadlined(t, 130*time.Second), Request{Account: "b", File: film}, filmTakes, filmTakes*3/2)
		send(t.Context(), Request{Account: "c", File: picture, Priority: Background}, pictureTakes, v.opts.BackgroundDelay+pictureTakes)
		v.Wait()
		if !v.idle() {
			t.Errorf("in the end %+v", v.lines)
		}
	})
}

// deadlined is a context that ends so late.
func deadlined(t *testing.T, deadline time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}
