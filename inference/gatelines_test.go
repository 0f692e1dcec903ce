package inference

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The beginnings of a film and of a picture.
const (
	filmHead    = "\x00\x00\x00\x18ftypisom"
	pictureHead = "\xff\xd8\xff\xe0"
)

// Four jobs with long videos used to fill every place, and a person with a
// picture waited for seconds behind them.
func TestBackgroundLeavesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newTestGate(4, nil)
		later := Request{Priority: Background}
		left := make(chan func(bool), 4)
		for range 4 {
			go func() {
				leave, err := g.enter(t.Context(), later)
				if err != nil {
					t.Error(err)
				}
				left <- leave
			}()
		}
		synctest.Wait()
		if len(left) != 2 {
			t.Fatalf("%d jobs run, want half of the four places", len(left))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.enter(ctx, later); !errors.Is(err, context.Canceled) {
			t.Errorf("a job that was cancelled: got %v", err)
		}
		for range 2 {
			leave, err := g.enter(t.Context(), Request{File: uploaded(pictureHead)})
			if err != nil {
				t.Fatal(err)
			}
			leave(true)
		}
		for range 4 {
			(<-left)(true)
		}
	})
}

// Jobs had half of the places whatever they were: with four of eight for pictures on two
// cores, sessions ran one row at a time, and jobs 120 pictures a second where people were
// answered 180.
func TestQuickBackgroundTakesAllPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			took time.Duration
			want int
		}{{briefly, 4}, {briefly + time.Millisecond, 2}} {
			g := newTestGate(4, nil)
			job := Request{Priority: Background, File: uploaded(pictureHead)}
			leave, err := g.enter(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(c.took)
			leave(true)
			left := make(chan func(bool), 6)
			for range 6 {
				go func() {
					leave, err := g.enter(t.Context(), job)
					if err != nil {
						t.Error(err)
					}
					left <- leave
				}()
			}
			synctest.Wait()
			if len(left) != c.want {
				t.Errorf("%d jobs that take %v run in four places, want %d", len(left), c.took, c.want)
			}
			for range 6 {
				(<-left)(true)
			}
		}
	})
}

// A film takes two places. A job's film was let in beside a job's picture, so that
// jobs had three places of four and a person's film stood behind them.
func TestBackgroundFilmsLeaveRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newTestGate(4, nil)
		in := make(map[string]func(bool))
		var mu sync.Mutex
		enter := func(name string, priority Priority, head string) {
			go func() {
				leave, err := g.enter(t.Context(), Request{Priority: priority, File: uploaded(head)})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				in[name] = leave
			}()
			synctest.Wait()
		}
		const picture, film = pictureHead, filmHead
		enter("picture of a job", Background, picture)
		enter("film of a job", Background, film)
		enter("film of a person", Interactive, film)
		if len(in) != 2 || in["film of a person"] == nil {
			t.Fatalf("%d files are in, the person's film: %v; want the job's picture and it", len(in), in["film of a person"] != nil)
		}
		in["picture of a job"](true)
		synctest.Wait()
		if in["film of a job"] != nil {
			t.Error("two films leave no place to a picture")
		}
		in["film of a person"](true)
		synctest.Wait()
		if in["film of a job"] == nil {
			t.Fatal("the job's film waits beside four free places")
		}
		in["film of a job"](true)
	})
}

// Five films of one account kept another's picture waiting until the first had been judged, for 28
// seconds where they were of 8K, or had it refused: they held all places, and the line was theirs.
func TestFilmsLeaveRoomForPictures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visits{gate: newTestGate(8, nil)}
		film, picture := Request{Account: "a", File: uploaded(filmHead)}, Request{Account: "b", File: uploaded(pictureHead)}
		const filmTakes, pictureTakes = 4 * time.Second, 100 * time.Millisecond
		v.costs.observe(classOf(film), cost{filmTakes, 1})
		v.costs.observe(classOf(picture), cost{pictureTakes, 1})
		var mu sync.Mutex
		films := 0
		for range 5 {
			v.pass(t.Context(), film, filmTakes, func(_ time.Duration, err error) {
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					films++
				}
			})
		}
		<-time.After(2 * time.Second)
		for i := range 6 { // two at a time in the places that films leave
			v.pass(t.Context(), picture, pictureTakes, func(took time.Duration, err error) {
				if most := time.Duration(i/2+1) * pictureTakes; err != nil || took > most {
					t.Errorf("picture %d: done after %v, %v; want %v at most", i, took, err, most)
				}
			})
			synctest.Wait()
		}
		v.Wait()
		if films != 5 || !v.idle() {
			t.Errorf("%d films were judged of 5; in the end %+v", films, v.lines)
		}
	})
}

// What may not be let in beside others is not kept out by those whom it does not concern: the film
// of a job waited for as long as jobs with pictures came, and where there are four places the film of a person
// for that of a job to end.
func TestFilmsAreLetInBesidePictures(t *testing.T) {
	t.Parallel()
	film, picture := uploaded(filmHead), uploaded(pictureHead)
	const filmTakes, pictureTakes = 4 * time.Second, 100 * time.Millisecond
	for name, c := range map[string]struct {
		parallel int
		runs     Request // all the time
		takes    time.Duration
		comes    Request
	}{
		"a job's film, pictures of jobs": {
			8, Request{Account: "a", Priority: Background, File: picture}, pictureTakes, Request{Account: "b", Priority: Background, File: film},
		},
		"a person's film, a job's": {
			4, Request{Account: "a", Priority: Background, File: film}, time.Hour, Request{Account: "b", File: film},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := &visits{gate: newTestGate(c.parallel, nil)}
				v.costs.observe(classOf(Request{File: film}), cost{filmTakes, 1})
				v.costs.observe(classOf(Request{File: picture}), cost{pictureTakes, 1})
				ctx, cancel := context.WithCancel(t.Context())
				for range c.parallel - 1 {
					v.Go(func() {
						for ctx.Err() == nil {
							leave, err := v.enter(ctx, c.runs)
							if err != nil {
								return
							}
							select {
							case <-time.After(c.takes):
							case <-ctx.Done():
							}
							leave(false)
							<-time.After(pictureTakes / 5)
						}
					})
				}
				<-time.After(time.Second)
				start, in := time.Now(), false
				later, end := context.WithTimeout(ctx, time.Minute)
				defer end()
				if leave, err := v.enter(later, c.comes); err == nil {
					in = true
					leave(true)
				}
				cancel()
				if took := time.Since(start); !in || took > 11*time.Second { // a job has people before it for ten
					t.Errorf("let in: %v, after %v", in, took)
				}
				v.Wait()
			})
		})
	}
}

// An account whose film waited for others to end had its pictures go before everybody's then, for as
// long as others had been served meanwhile: a hundred of them, before the one of another.
func TestWaitingForFilmsIsNoCreditForPictures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visits{gate: newTestGate(8, func(o *DetectorOptions) { o.Burst = time.Hour; o.Wait = time.Hour })}
		film, picture := uploaded(filmHead), uploaded(pictureHead)
		const filmTakes, pictureTakes = 20 * time.Second, 100 * time.Millisecond
		v.costs.observe(classOf(Request{File: film}), cost{filmTakes, 1})
		v.costs.observe(classOf(Request{File: picture}), cost{pictureTakes, 1})
		ignore := func(_ time.Duration, err error) {
			if err != nil {
				t.Error(err)
			}
		}
		for range 3 {
			v.pass(t.Context(), Request{Account: "a", File: film}, filmTakes, ignore)
			synctest.Wait()
		}
		v.pass(t.Context(), Request{Account: "c", File: film}, filmTakes, ignore)
		for range 100 {
			v.pass(t.Context(), Request{Account: "b", File: picture}, pictureTakes, ignore)
			<-time.After(pictureTakes)
		}
		for range 100 {
			v.pass(t.Context(), Request{Account: "c", File: picture}, pictureTakes, ignore)
		}
		synctest.Wait()
		v.pass(t.Context(), Request{Account: "b", File: picture}, pictureTakes, func(took time.Duration, err error) {
			if err != nil || took > 5*pictureTakes {
				t.Errorf("the picture of another waited for %v, %v", took, err)
			}
		})
		v.Wait()
	})
}

// Who waits is told what its own line takes: films were let in as if they had all places.
func TestLinesArePredictedApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visits{gate: newTestGate(8, func(o *DetectorOptions) { o.Burst = time.Hour; o.Wait = time.Hour })}
		film, picture := Request{Account: "a", File: uploaded(filmHead)}, Request{Account: "b", File: uploaded(pictureHead)}
		const filmTakes, pictureTakes = 8 * time.Second, 100 * time.Millisecond
		v.costs.observe(classOf(film), cost{filmTakes, 1})
		v.costs.observe(classOf(picture), cost{pictureTakes, 1})
		ignore := func(_ time.Duration, err error) {
			if err != nil {
				t.Error(err)
			}
		}
		for range 6 { // three run, three wait for eight seconds
			v.pass(t.Context(), film, filmTakes, ignore)
		}
		synctest.Wait()
		for range 6 { // two run, four wait for a tenth of a second and for two
			v.pass(t.Context(), picture, pictureTakes, ignore)
		}
		synctest.Wait()
		for _, c := range []struct {
			req  Request
			want time.Duration
		}{{film, 12 * time.Second}, {picture, 250 * time.Millisecond}} {
			g := v.gate
			g.mu.Lock()
			w := &visit{class: classOf(c.req), places: g.takes(classOf(c.req))}
			w.entry = entry{payer: payer{c.req.Account, Interactive}, visit: w, rows: 1, cost: g.thought(w) * time.Duration(w.places), queue: g.lineOf(w)}
			wait := g.predict(w, time.Now())
			g.mu.Unlock()
			if wait < c.want*3/4 || wait > c.want*5/4 {
				t.Errorf("%v predicted, want about %v", wait, c.want)
			}
		}
		v.Wait()
	})
}

// Small pictures used to be let in two for each decoder, as films are, and sessions ran
// their rows one by one with as many waiting outside. What may be a film takes two
// places, and nobody slips past one that waits for both; but where it waits for other films to
// end, what does not need their places goes on.
func TestFilmsTakeTwoPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newTestGate(3, nil)
		in := make(chan struct{}, 7)
		enter := func(f File) (leave func()) {
			left := make(chan struct{})
			go func() {
				done, err := g.enter(t.Context(), Request{File: f})
				if err != nil {
					t.Error(err)
					return
				}
				in <- struct{}{}
				<-left
				done(true)
			}()
			synctest.Wait()
			return func() { close(left); synctest.Wait() }
		}
		film, picture := uploaded(filmHead), uploaded(pictureHead)
		first, second := enter(film), enter(picture)
		third, fourth := enter(film), enter(picture)
		if len(in) != 2 {
			t.Fatalf("%d are in; want a film and a picture", len(in))
		}
		if second(); len(in) != 3 {
			t.Errorf("%d have been let in; want the second picture, too", len(in))
		}
		fifth, sixth := enter(picture), enter(film)
		if fourth(); len(in) != 4 {
			t.Errorf("%d have been let in; want the third picture, too", len(in))
		}
		seventh := enter(picture)
		if first(); len(in) != 5 {
			t.Errorf("%d have been let in; want the second film, too", len(in))
		}
		fifth()
		third()
		sixth()
		seventh()
		if len(in) != 7 {
			t.Errorf("%d have been let in; want all", len(in))
		}
		alone := newTestGate(1, nil)
		leave, err := alone.enter(t.Context(), Request{File: film})
		if err != nil {
			t.Fatalf("a film where there is one place: %v", err)
		}
		leave(true)
	})
}
