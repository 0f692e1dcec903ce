package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"deepfaked/internal/postgrestest"
)

func onPostgres(t *testing.T) backend {
	t.Helper()
	b := backend{"", DefaultOptions()}
	b.opts.Database, b.opts.Lost = postgrestest.Database(t), 400*time.Millisecond
	return b
}

// What nobody has been promised is not waited for on the disk, and that does not
// stay with the connection.
func TestWhatPostgresSyncs(t *testing.T) {
	t.Parallel()
	b := onPostgres(t)
	b.opts.Connections = 2
	s := b.open(t)
	for range 4 {
		for want, write := range map[string]func(context.Context, func(*Tx) error) error{"on": s.Write, "off": s.WriteUnsynced} {
			require.NoError(t, write(t.Context(), func(tx *Tx) error {
				var level string
				require.NoError(t, tx.QueryRowContext(t.Context(), "SHOW synchronous_commit").Scan(&level))
				assert.Equal(t, want, level)
				return nil
			}))
		}
	}
}

// A role that may use the tables and create none was refused at the start, with nothing to create; what is
// missing it is still told of.
func TestRoleThatMayNotCreate(t *testing.T) {
	t.Parallel()
	b := onPostgres(t)
	const role = "may_not_create"
	s, err := Open(t.Context(), b.dir, b.opts)
	require.NoError(t, err)
	_, err = s.pool.Exec(t.Context(), "CREATE ROLE "+role+"; REVOKE CREATE ON SCHEMA public FROM PUBLIC;"+
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+role)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })

	b.opts.Database += "&role=" + role
	assert.Equal(t, len(postgresMigrations()), version(t, b.open(t)))

	next := append(postgresMigrations(), migration{fmt.Sprintf("%04d_next.sql", len(postgresMigrations())+1), "CREATE TABLE next (n INTEGER)"})
	_, err = openPostgres(t.Context(), b.opts, next)
	assert.ErrorContains(t, err, "permission denied for schema public")
}

// Each start, and each use of keys, waited without a word for whoever held the schema's lock,
// though there was nothing to change.
func TestAPresentSchemaIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	b := onPostgres(t)
	s := b.open(t)
	held, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = held.Rollback(context.Background()) }()
	_, err = held.Exec(t.Context(), "SELECT pg_advisory_xact_lock($1)", lockKey("schema"))
	require.NoError(t, err)
	b.open(t)
}

// Two transactions that wait for each other: one is run again, and both are done. On
// a busy machine the one that is run again can be the quicker to lock its first row,
// before the other has woken up: then they meet once more, which is no mistake.
func TestDeadlocksAreTriedAgain(t *testing.T) {
	t.Parallel()
	s := onPostgres(t).open(t)
	require.NoError(t, s.Write(t.Context(), func(tx *Tx) error {
		return errors.Join(insertAccount(t.Context(), tx, "a"), insertAccount(t.Context(), tx, "b"))
	}))
	holding, ended := make(chan string, 9), make(chan error, 2)
	begin := make(chan struct{})
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		go func() {
			ended <- s.Write(t.Context(), func(tx *Tx) error {
				if err := tx.Lock(t.Context(), "accounts", order[0]); err != nil {
					return err
				}
				holding <- order[0]
				<-begin
				return tx.Lock(t.Context(), "accounts", order[1])
			})
		}()
	}
	<-holding
	<-holding
	close(begin)
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	assert.NotEmpty(t, holding, "none was tried again")

	tried := 0
	err := s.Write(t.Context(), func(*Tx) error { tried++; return &pgconn.PgError{Code: "40001"} })
	require.Error(t, err)
	assert.Equal(t, tries, tried, "but not for ever")
}

// Whoever falls silent is at work no longer, and comes back by itself; only who has
// been there for as long as others may be silent ends what they left.
func TestProcessesAtWork(t *testing.T) {
	t.Parallel()
	b := onPostgres(t)
	b.opts.Lost = time.Hour // what passes is set back instead
	s := b.open(t)
	logger := slog.New(slog.DiscardHandler)
	first, err := s.Join(t.Context(), logger)
	require.NoError(t, err)
	second, err := s.Join(t.Context(), logger)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, second.Leave()) })
	atWork := func() (ids []string) {
		rows, err := s.Reader().QueryContext(t.Context(), s.AtWork())
		require.NoError(t, err)
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var id string
			require.NoError(t, rows.Scan(&id))
			ids = append(ids, id)
		}
		require.NoError(t, rows.Err())
		return ids
	}
	heir := func(p *Process) (ran bool) {
		require.NoError(t, p.Inherit(t.Context(), func(*Tx) error { ran = true; return nil }))
		return ran
	}
	assert.ElementsMatch(t, []string{first.ID(), second.ID()}, atWork())
	assert.False(t, heir(second))
	passes := func(p *Process, column string) {
		_, err := s.Reader().ExecContext(t.Context(), `UPDATE processes SET `+column+` = `+column+` - interval '61 minutes' WHERE id = $1`, p.ID())
		require.NoError(t, err)
	}
	first.stop() // as if it were suspended
	passes(first, "seen_at")
	assert.Equal(t, []string{second.ID()}, atWork())
	assert.False(t, heir(first))
	passes(second, "since")
	assert.True(t, heir(second))
	require.NoError(t, first.seen(t.Context()))
	assert.Len(t, atWork(), 2)
	assert.False(t, heir(first), "it has just come back")
	require.NoError(t, first.Leave())
	require.NoError(t, first.Leave())
	assert.Equal(t, []string{second.ID()}, atWork())
}

// A server that stood still, as one does whose machine is moved, while a process was ending
// what others had left, had that take all others for gone when it went on: it had asked
// before whether it was the heir, and who was at work after.
func TestTheDatabaseStandsStill(t *testing.T) {
	t.Parallel()
	b := onPostgres(t)
	b.opts.Lost = 4 * time.Second // both say that they are there once in a quarter of that
	s := b.open(t)
	heir, err := s.Join(t.Context(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	other, err := s.Join(t.Context(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, errors.Join(heir.Leave(), other.Leave())) })
	atWork := 0
	stands := func(tx *Tx) error {
		_, err := tx.ExecContext(t.Context(), `LOCK TABLE processes IN EXCLUSIVE MODE`) // nobody can say that it is there
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), `SELECT pg_sleep(6)`)
		require.NoError(t, err)
		return tx.QueryRowContext(t.Context(), `SELECT count(*) FROM (`+s.AtWork()+`) AS alive`).Scan(&atWork)
	}
	ran := false
	for deadline := time.Now().Add(time.Minute); !ran && time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		require.NoError(t, heir.Inherit(t.Context(), func(tx *Tx) error { ran = true; return stands(tx) }))
	}
	assert.Equal(t, 2, atWork)
}

// While the database's clock was a month ahead, for moments, processes were entered by it. For a month
// from then on none took up what others left, and those that ended meanwhile were at work.
func TestTheDatabasesClockWasAhead(t *testing.T) {
	t.Parallel()
	const month = 30 * 24 * time.Hour
	b := onPostgres(t)
	plain := b.opts.Database
	b.opts.Database = postgrestest.Behind(t, plain, 0)
	s := b.open(t)
	heir, err := s.Join(t.Context(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	dead, err := s.Join(t.Context(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, heir.Leave()) })
	eventually := func(ok func() bool) { require.Eventually(t, ok, time.Minute, 10*time.Millisecond) }
	inherits := func() (ran bool) {
		require.NoError(t, heir.Inherit(t.Context(), func(*Tx) error { ran = true; return nil }))
		return ran
	}
	eventually(inherits)

	postgrestest.Behind(t, plain, -month)
	for _, p := range []*Process{heir, dead} {
		eventually(func() bool { return time.Until(p.Now()) > month/2 })
	}
	eventually(inherits) // both have long been entered by then
	dead.stop()
	postgrestest.Behind(t, plain, 0)
	eventually(func() bool { return time.Until(heir.Now()) < month/2 })
	eventually(inherits)
	var left int
	require.NoError(t, s.Reader().QueryRowContext(t.Context(),
		`SELECT count(*) FROM (`+s.AtWork()+`) AS alive WHERE id = $1`, dead.ID()).Scan(&left))
	assert.Zero(t, left)
}

// Where the clock is put back by little more than a process may be silent, one that was heard of a while
// before thinks itself near, and those that were heard of just before must be near, too.
func TestTheDatabasesClockIsPutBack(t *testing.T) {
	t.Parallel()
	b := onPostgres(t)
	b.opts.Lost = time.Minute
	s := b.open(t)
	for id, ahead := range map[string]string{"before": "59 seconds", "just before": "90 seconds", "ahead": "200 seconds"} {
		_, err := s.Reader().ExecContext(t.Context(), `INSERT INTO processes (id, since, seen_at) VALUES ($1, now() - interval '1 hour', now() + $2::interval)`, id, ahead)
		require.NoError(t, err)
	}
	var heirs, atWork int
	require.NoError(t, s.Reader().QueryRowContext(t.Context(),
		`SELECT count(*) FILTER (WHERE `+s.near("seen_at", "now()")+`), count(*) FILTER (WHERE id IN (`+s.AtWork()+`)) FROM processes`).Scan(&heirs, &atWork))
	assert.Equal(t, 1, heirs)
	assert.Equal(t, 2, atWork)
}

// The kernel would have sent again for a quarter of an hour.
func TestLostConnectionsAreGivenUp(t *testing.T) {
	t.Parallel()
	opts := DefaultOptions()
	opts.Database = "postgres://somebody@somewhere/something"
	config, err := postgresConfig(opts)
	require.NoError(t, err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, listener.Close()) })
	conn, err := config.ConnConfig.DialFunc(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	raw, err := conn.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		ms, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		require.NoError(t, err)
		assert.Equal(t, opts.Lost, time.Duration(ms)*time.Millisecond)
	}))
}

// One at a time, in all processes.
func TestAlone(t *testing.T) {
	t.Parallel()
	b := onPostgres(t)
	one, two := b.open(t), b.open(t)
	inside, leave, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- one.Alone(t.Context(), "x", func() error { close(inside); <-leave; return nil })
	}()
	<-inside
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, two.Alone(short, "x", func() error { return nil }), context.DeadlineExceeded)
	require.NoError(t, two.Alone(t.Context(), "y", func() error { return nil }))
	close(leave)
	require.NoError(t, <-ended)
	refusal := errors.New("refused")
	require.ErrorIs(t, two.Alone(t.Context(), "x", func() error { return refusal }), refusal)
	require.NoError(t, one.Alone(t.Context(), "x", func() error { return nil }))
}

// With pool_max_conns=1 in the address a service never came to listen: the lock on
// the queue's tables had the one connection that making them waited for, and every
// other process that was started waited for the lock.
func TestAloneWithOneConnection(t *testing.T) {
	t.Parallel()
	s := oneConnection(t)
	within, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	require.NoError(t, s.Alone(within, "x", func() error {
		return s.Write(within, func(tx *Tx) error { return insertAccount(within, tx, "a") })
	}))
	assert.Equal(t, 1, accounts(t, s))
}

// A server that was gone is found again, without anything being done.
func TestPostgresComesBack(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	b := backend{"", DefaultOptions()}
	b.opts.Database = server.Database(t)
	s := b.open(t)
	require.NoError(t, s.Write(t.Context(), func(tx *Tx) error { return insertAccount(t.Context(), tx, "a") }))
	server.Kill()
	require.Error(t, s.Write(t.Context(), func(tx *Tx) error { return insertAccount(t.Context(), tx, "b") }))
	_, err := s.Reader().ExecContext(t.Context(), "SELECT 1")
	require.Error(t, err)
	require.NoError(t, server.Run())
	require.NoError(t, s.Write(t.Context(), func(tx *Tx) error { return insertAccount(t.Context(), tx, "c") }))
	assert.Equal(t, 2, accounts(t, s))
}
