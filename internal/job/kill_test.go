package job

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/preprocess"
)

// The test binary is a process that accepts and runs jobs, and is killed, when
// these are set: where its uploads and books are, and what it does.
const (
	victimData     = "DEEPFAKED_TEST_JOBS_DATA"
	victimDatabase = "DEEPFAKED_TEST_JOBS_DATABASE"
	victimDoes     = "DEEPFAKED_TEST_JOBS_DOES"
)

// victim accepts jobs and runs them until it is killed, and writes a line for
// each that it has accepted. Told to "die" it ends in the middle of the first
// job, having accepted it if there was none. Told to "stall" it accepts one, says
// "begun" in the middle of it, and fails it when its standard input ends; told to "nap" it completes it
// then. Told to "choose" it
// ends in the middle of the one job that the file "deadly" names.
func victim(w where, does string) error {
	ctx := context.Background()
	p, err := openPlace(ctx, w)
	if err != nil {
		return err
	}
	a, err := p.account(ctx)
	if err != nil {
		return err
	}
	r, err := p.runner(ctx, func(ctx context.Context, req inference.Request) (inference.Result, error) {
		switch does {
		case "die":
			os.Exit(3)
		case "choose":
			<-time.After(100 * time.Millisecond) // until those beside it have begun
			deadly, err := os.ReadFile(w.data + "/deadly")
			if err != nil {
				return inference.Result{}, err
			}
			content := make([]byte, len(deadly))
			if _, err := req.File.ReadAt(content, 0); err == nil && bytes.Equal(content, deadly) {
				os.Exit(3)
			}
			<-time.After(200 * time.Millisecond)
		case "nap":
			if _, err := req.File.Rewind(); err != nil { // its turn has come
				return inference.Result{}, err
			}
			fmt.Println("begun") //nolint:forbidigo // read by the test
			if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
				return inference.Result{}, err
			}
		case "stall":
			fmt.Println("begun") //nolint:forbidigo // read by the test
			_, err := io.Copy(io.Discard, os.Stdin)
			return inference.Result{}, errors.Join(&preprocess.Error{Code: preprocess.UnsupportedMediaType, Message: "No media."}, err)
		}
		return good(ctx, req)
	}, victims(does))
	if err != nil {
		return err
	}
	if err := r.Start(ctx); err != nil {
		return err
	}
	go func() {
		for ; ; <-time.After(50 * time.Millisecond) {
			_ = r.Recover(ctx)
		}
	}()
	if _, err := os.Stat(w.data + "/accepted"); (does == "die" || does == "choose") && err == nil {
		select {}
	}
	for {
		id, err := p.submit(ctx, r, a)
		if err != nil {
			return err
		}
		fmt.Println(id) //nolint:forbidigo // read by the test
		if does != "work" {
			select {}
		}
	}
}

// victims are the options of a victim. One that works is killed more often than a job
// may be broken off, and always the same jobs may be under way. One that naps does so for
// longer than its deadline.
func victims(does string) Options {
	opts := options(4)
	switch does {
	case "work":
		opts.Attempts = 2 * kills
	case "nap":
		opts.Deadline = 10 * time.Second // which a slow machine keeps too
	}
	return opts
}

// run runs a victim, hands each line on, and returns how it ended.
func run(t *testing.T, w where, does string, line func(cmd *exec.Cmd, id string)) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimData+"="+w.data, victimDatabase+"="+w.database, victimDoes+"="+does)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line(cmd, lines.Text())
	}
	return cmd.Wait()
}

// kills is how often a process is killed while it works.
const kills = 6

// Whatever the moment at which the process is killed: each job that was accepted
// has one result in the end, and is counted once.
func TestKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, testKilledProcessLosesNothing)
}

func testKilledProcessLosesNothing(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	w, accepted := fresh(t), map[string]bool{}
	for range kills {
		left := rand.IntN(20) + 1
		err := run(t, w, "work", func(cmd *exec.Cmd, id string) {
			accepted[id] = true
			if left--; left == 0 {
				assert.NoError(t, cmd.Process.Kill())
			}
		})
		require.ErrorContains(t, err, "killed")
	}
	f := enter(t, w)
	f.start(good, victims("work"))
	f.inherit()
	for id := range accepted {
		d := f.ended(id)
		assert.Equal(t, account.Complete, d.State, "%s: %s", id, d.Error)
	}
	f.swept() // also of those whose acceptance nobody has read any more
	var complete, all int
	require.NoError(t, f.books.Reader().QueryRowContext(t.Context(),
		`SELECT count(*) FILTER (WHERE state = 'complete'), count(*) FROM detections`).Scan(&complete, &all))
	assert.Equal(t, all, complete)
	assert.GreaterOrEqual(t, all, len(accepted))
	f.used(all)
}

// A file that ends its process again and again is given up after three attempts,
// and others are judged.
func TestFileThatKills(t *testing.T) {
	t.Parallel()
	onBoth(t, testFileThatKills)
}

func testFileThatKills(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	w, began := fresh(t), time.Now()
	for range 3 {
		err := run(t, w, "die", func(*exec.Cmd, string) {})
		require.ErrorContains(t, err, "exit status 3")
		require.NoError(t, os.WriteFile(w.data+"/accepted", nil, 0o600))
	}
	f := enter(t, w)
	var id string // it may have died before it could say so
	require.NoError(t, f.books.Reader().QueryRowContext(t.Context(), `SELECT id FROM detections`).Scan(&id))
	f.start(good, options(1))
	f.inherit()
	d := f.ended(id)
	assert.Equal(t, account.Failed, d.State)
	assert.Equal(t, Abandoned, d.Error)
	assert.Equal(t, account.Complete, f.ended(f.submit(1)[0]).State)
	f.used(1)
	f.empty()
	assert.WithinDuration(t, began, d.Completed, time.Hour)
}

// A file that ends its process was run beside the same others at each of its attempts,
// and three of them were given up with it.
func TestFileThatKillsTakesNobodyAlong(t *testing.T) {
	t.Parallel()
	onBoth(t, testFileThatKillsTakesNobodyAlong)
}

func testFileThatKillsTakesNobodyAlong(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	w := fresh(t)
	ids := acceptedBefore(t, w, 8)
	require.NoError(t, os.WriteFile(w.data+"/accepted", nil, 0o600))
	require.NoError(t, os.WriteFile(w.data+"/deadly", []byte(ids[1]), 0o600))
	for range 3 {
		require.ErrorContains(t, run(t, w, "choose", func(*exec.Cmd, string) {}), "exit status 3")
	}
	f := enter(t, w)
	f.start(good, options(4))
	f.inherit()
	for i, id := range ids {
		want := account.Complete
		if i == 1 {
			want = account.Failed
		}
		assert.Equal(t, want, f.ended(id).State, "job %d", i)
	}
}

// acceptedBefore has a process accept n jobs and end before it runs any.
func acceptedBefore(t *testing.T, w where, n int) (ids []string) {
	t.Helper()
	p, err := openPlace(t.Context(), w)
	require.NoError(t, err)
	a, err := p.account(t.Context())
	require.NoError(t, err)
	r, err := p.runner(t.Context(), good, options(0))
	require.NoError(t, err)
	for range n {
		id, err := p.submit(t.Context(), r, a)
		require.NoError(t, err)
		ids = append(ids, id)
	}
	require.NoError(t, r.Close(t.Context()))
	require.NoError(t, p.close())
	return ids
}
