package inference

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// comeBack has as many clients of so many accounts send files that take so long on a machine, each the
// next at once, or when it was told to come back.
func (v *visits) comeBack(ctx context.Context, clients, accounts int, req Request, machine *shared, takes time.Duration) {
	for i := range clients {
		req := req
		req.Account = fmt.Sprint("account ", i%accounts)
		v.Go(func() {
			<-time.After(time.Duration(i) * takes / time.Duration(clients))
			for ctx.Err() == nil {
				if told, refused := errors.AsType[*SaturatedError](v.judge(ctx, req, machine, takes)); refused {
					<-time.After(told.RetryAfter)
				}
			}
		})
	}
}

// judge has one file pass that takes so long on a machine where nothing else is.
func (v *visits) judge(ctx context.Context, req Request, machine *shared, takes time.Duration) error {
	leave, err := v.enter(ctx, req)
	if err == nil {
		err = machine.do(ctx, takes)
		leave(err == nil)
	}
	return err
}

// The only film of an account was refused for good beside four accounts with slow pictures: 2 were judged in
// five minutes, and 119 refused. It was thought to wait for as much of each of the others as it takes itself, though
// it goes first as soon as they have been served no less, and might wait for no longer than pictures take.
func TestGateLetsInAFilmBesideManyWithSlowPictures(t *testing.T) {
	t.Parallel()
	for _, accounts := range []int{1, 4, 8} {
		t.Run(fmt.Sprint(accounts), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := &visits{gate: newTestGate(8, func(o *DetectorOptions) { o.Side = 1 })}
				machine := &shared{side: 2}
				ctx, cancel := context.WithCancel(t.Context())
				v.comeBack(ctx, 64, accounts, Request{File: uploaded(pictureHead), Size: 2_000_000}, machine, 700*time.Millisecond)
				<-time.After(20 * time.Second)
				film := Request{Account: "modest", File: uploaded(filmHead), Size: 3_000_000}
				good, refused := 0, 0
				for start := time.Now(); time.Since(start) < 5*time.Minute; {
					err := v.judge(ctx, film, machine, 900*time.Millisecond)
					switch told, saturated := errors.AsType[*SaturatedError](err); {
					case err == nil:
						good++
					case saturated:
						refused++
						<-time.After(told.RetryAfter)
					default:
						t.Error(err)
					}
				}
				t.Logf("%d films judged, %d refused", good, refused)
				if good < 40 || refused > good/4 {
					t.Errorf("%d films judged, %d refused", good, refused)
				}
				cancel()
				v.Wait()
			})
		})
	}
}

// Where files take longer than the longest wait, that is as long as they take: a film of four
// seconds was to wait for no longer than the pictures beside it take.
func TestAFilmMayWaitForAsLongAsItTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visits{gate: newTestGate(8, nil)}
		film, picture := Request{Account: "b", File: uploaded(filmHead)}, Request{Account: "a", File: uploaded(pictureHead)}
		const filmTakes, pictureTakes = 4 * time.Second, 700 * time.Millisecond
		v.costs.observe(classOf(film), cost{filmTakes, 1})
		v.costs.observe(classOf(picture), cost{pictureTakes, 1})
		ctx, cancel := context.WithCancel(t.Context())
		v.fill(ctx, 8, picture, pictureTakes)
		<-time.After(3 * time.Second) // which the line has stood for
		for range 2 {
			v.pass(ctx, film, filmTakes, func(_ time.Duration, err error) {
				if err != nil {
					t.Errorf("a film: %v", err)
				}
			})
			synctest.Wait()
		}
		<-time.After(4 * filmTakes)
		cancel()
		v.Wait()
	})
}

// Who goes behind others waits for what they are served before its turn comes, whatever it costs itself.
func TestAheadIsWhatGoesBefore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others int
		each   []time.Duration // what waits of each of them
		costs  time.Duration
		rows   int
		want   time.Duration
	}{
		"one each":            {4, []time.Duration{1, 1, 1}, 9, 1, 4},
		"of a cheap one":      {4, []time.Duration{3, 3}, 1, 1, 12},
		"up to its last row":  {2, []time.Duration{1, 1, 1, 1, 1}, 1, 3, 6},
		"all that there is":   {2, []time.Duration{1, 1}, 1, 9, 4},
		"among dear ones":     {2, []time.Duration{5, 5, 5}, 1, 4, 16},
		"of one with nothing": {3, nil, 1, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, turns := time.Now(), newTurns(1, 0)
			for i := range c.others {
				for _, cost := range c.each {
					turns.add(&entry{payer: payer{account: fmt.Sprint(i)}, cost: cost, rows: 1, since: now, deadline: now})
				}
			}
			e := &entry{payer: payer{account: "e"}, cost: c.costs, rows: c.rows, since: now, deadline: now.Add(1)}
			got := turns.ahead(e, 0, now)
			if got != c.want {
				t.Errorf("%d is predicted to go before it, want %d", got, c.want)
			}
			turns.add(e)
			var before time.Duration
			for {
				next := turns.first(0, now, true)
				if next == e && e.rows == 1 {
					break
				}
				if next != e {
					before += next.cost
				}
				turns.serve(next)
				turns.take(next)
			}
			if before > got {
				t.Errorf("%d goes before it, where %d is predicted", before, got)
			}
		})
	}
}
