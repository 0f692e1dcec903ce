package job

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"deepfaked/internal/store"
)

// queue is River on one of the two databases.
type queue interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	StopAndCancel(ctx context.Context) error
	// insert and complete do so in the books' transaction. A job that does not run
	// is not completed, which is no error.
	insert(ctx context.Context, tx *store.Tx, all []detection) (ids []int64, err error)
	complete(ctx context.Context, tx *store.Tx, ids ...int64) error
}

// client is a queue whose driver knows transactions as T.
type client[D riverdriver.Driver[T], T any] struct {
	*river.Client[T]

	within func(tx *store.Tx, do func(T) error) error
}

func (c *client[D, T]) insert(ctx context.Context, tx *store.Tx, all []detection) (ids []int64, err error) {
	jobs := make([]river.InsertManyParams, len(all))
	for i, d := range all {
		jobs[i].Args, jobs[i].InsertOpts = d, &river.InsertOpts{Queue: d.queue}
	}
	err = c.within(tx, func(tx T) error {
		inserted, err := c.InsertManyTx(ctx, tx, jobs)
		for _, j := range inserted {
			ids = append(ids, j.Job.ID)
		}
		return err
	})
	return ids, err
}

// complete is river.JobCompleteTx for several jobs at once.
func (c *client[D, T]) complete(ctx context.Context, tx *store.Tx, ids ...int64) error {
	n, now := len(ids), time.Now().UTC()
	return c.within(tx, func(tx T) error {
		_, err := c.Driver().UnwrapExecutor(tx).JobSetStateIfRunningMany(ctx, &riverdriver.JobSetStateIfRunningManyParams{
			ID:              ids,
			Attempt:         make([]*int, n),
			ErrData:         make([][]byte, n),
			FinalizedAt:     slices.Repeat([]*time.Time{&now}, n),
			MetadataDoMerge: make([]bool, n),
			MetadataUpdates: make([][]byte, n),
			ScheduledAt:     make([]*time.Time, n),
			State:           slices.Repeat([]rivertype.JobState{rivertype.JobStateCompleted}, n),
		})
		return err
	})
}

// openQueue makes a client that has not been started.
func openQueue(books *store.Store, b bell, c *river.Config) (queue, error) {
	if pool := books.Postgres(); pool != nil {
		c.Hooks = append(c.Hooks, river.HookInsertBeginFunc(dueByTheDatabase))
		return newClient(&postgres{riverpgxv5.New(pool)}, c, func(tx *store.Tx, do func(pgx.Tx) error) error { return tx.Postgres(do) })
	}
	d := &driver{riversqlite.New(books.SQLite()), b}
	return newClient(d, c, func(tx *store.Tx, do func(*sql.Tx) error) error { return do(tx.SQL()) })
}

func newClient[D riverdriver.Driver[T], T any](d D, c *river.Config, within func(*store.Tx, func(T) error) error) (queue, error) {
	river, err := river.NewClient[T](d, c)
	if err != nil {
		return nil, err
	}
	return &client[D, T]{river, within}, nil
}

// Migrate brings the queue's tables in the books' database up to date. New does
// it, too.
func Migrate(ctx context.Context, books *store.Store) error {
	if pool := books.Postgres(); pool != nil && migrated(ctx, riverpgxv5.New(pool)) {
		return nil // without waiting for who has the lock
	}
	err := books.Alone(ctx, "queue", func() error {
		if pool := books.Postgres(); pool != nil {
			return migrate(ctx, riverpgxv5.New(pool))
		}
		return migrate(ctx, riversqlite.New(books.SQLite()))
	})
	if err != nil {
		return fmt.Errorf("jobs: make the tables of the queue: %w", err)
	}
	return nil
}

// migrated says whether there is nothing to do.
func migrated[T any](ctx context.Context, d riverdriver.Driver[T]) bool {
	migrator, err := rivermigrate.New(d, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return false
	}
	found, err := migrator.Validate(ctx, nil)
	return err == nil && found.OK
}

func migrate[T any](ctx context.Context, d riverdriver.Driver[T]) error {
	migrator, err := rivermigrate.New(d, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	return err
}

// words are what the two databases say differently of the queue's table.
type words struct {
	now    string
	in     func(time.Duration) string // the time that is so long from now
	holder string                     // the process that makes, or made, the last attempt
	listed string                     // the numbers in $2, a JSON array
	object func(rows string) string   // rows of account and n, as one JSON object
}

func wordsOf(books *store.Store) words {
	if books.Postgres() != nil {
		return words{
			now:    "now()",
			in:     func(d time.Duration) string { return fmt.Sprintf("now() + interval '%f seconds'", d.Seconds()) },
			holder: "attempted_by[array_upper(attempted_by, 1)]",
			listed: "SELECT value::bigint FROM json_array_elements_text($2::json)",
			object: func(rows string) string {
				return "SELECT coalesce(json_object_agg(account, n), '{}')::text FROM (" + rows + ") AS row"
			},
		}
	}
	return words{
		now: "strftime('%Y-%m-%d %H:%M:%f', 'now')",
		in: func(d time.Duration) string {
			return fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '%+f seconds')", d.Seconds())
		},
		holder: "attempted_by->>'$[#-1]'",
		listed: "SELECT value FROM json_each($2)",
		object: func(rows string) string { return "SELECT json_group_object(account, n) FROM (" + rows + ")" },
	}
}

// unfinished are the states of a job that will be run, or is.
const unfinished = "('available', 'pending', 'retryable', 'running', 'scheduled')"
