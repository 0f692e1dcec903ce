package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sys/unix"
)

// postgresEngine runs transactions of many processes next to each other.
type postgresEngine struct{ db *sql.DB }

// openPostgres is Open for the address in opts, with a history of its own.
func openPostgres(ctx context.Context, opts Options, history []migration) (*Store, error) {
	config, err := postgresConfig(opts)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db := openPool(pool)
	s := &Store{
		name: placeOf(config), engine: &postgresEngine{db: db}, reader: db, pool: pool, lost: opts.Lost,
		close: closing(db.Close, func() error { return letGo(pool) }),
	}
	patient, cancel := context.WithTimeout(ctx, opts.BusyTimeout)
	defer cancel()
	if err := pool.Ping(patient); err != nil {
		return nil, errors.Join(unreachable(config, err), s.Close())
	}
	if err := migratePostgres(ctx, db, history, opts.Migrate); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", placeOf(config), err), s.Close())
	}
	return s, nil
}

// unwinding is how long connections have to be closed. A server that hangs answers none.
const unwinding = 5 * time.Second

func letGo(pool *pgxpool.Pool) error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		pool.Close()
	}()
	select {
	case <-closed:
		return nil
	case <-time.After(unwinding):
		return errors.New("the database does not answer; connections to it are left behind")
	}
}

// postgresConfig reads the address. What it says in an error has no password in
// it, and the parser's own words may.
func postgresConfig(opts Options) (*pgxpool.Config, error) {
	scheme, _, found := strings.Cut(opts.Database, "://")
	if !found || scheme != "postgres" && scheme != "postgresql" {
		return nil, errors.New("the database must be an address such as postgres://USER:PASSWORD@HOST:5432/NAME")
	}
	config, err := pgxpool.ParseConfig(opts.Database)
	if err != nil {
		return nil, errors.New("the address of the database can't be read: it must look like postgres://USER:PASSWORD@HOST:5432/NAME, " +
			"and in a name or password each of : / ? # [ ] @ % must be written as % and its code, such as %40 for @")
	}
	if !strings.Contains(opts.Database, "pool_max_conns") {
		config.MaxConns = int32(opts.Connections) //nolint:gosec // validated
	}
	if !strings.Contains(opts.Database, "connect_timeout") {
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	config.ConnConfig.DialFunc = dialer(opts.Lost).DialContext
	// What a process that hangs has locked is not kept from the others for ever.
	for name, value := range map[string]string{"application_name": "deepfaked", "idle_in_transaction_session_timeout": "15s"} {
		if _, set := config.ConnConfig.RuntimeParams[name]; !set {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	return config, nil
}

// dialer makes connections that are given up where the other end has not answered for as
// long as a process may be silent. One that is lost without a word, as when the server's
// machine is, or a firewall forgets it, would have whoever asks by it wait for a quarter of
// an hour, until the kernel has sent often enough.
func dialer(silence time.Duration) *net.Dialer {
	return &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silence},
		Control: func(network, _ string, conn syscall.RawConn) error {
			if !strings.HasPrefix(network, "tcp") {
				return nil
			}
			var set error
			err := conn.Control(func(fd uintptr) {
				set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence.Milliseconds()))
			})
			return errors.Join(err, set)
		},
	}
}

// placeOf names a database without its user and password.
func placeOf(c *pgxpool.Config) string {
	return fmt.Sprintf("%s on %s:%d", c.ConnConfig.Database, c.ConnConfig.Host, c.ConnConfig.Port)
}

// unreachable says in a sentence why the server does not let us in.
func unreachable(c *pgxpool.Config, err error) error {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok:
		return fmt.Errorf("the database %s can't be reached: see that it runs and that --database names it: %w", placeOf(c), err)
	case refused.Code == "28P01" || refused.Code == "28000":
		return fmt.Errorf("the database %s does not let the user %s in: see to user and password in --database: %w", placeOf(c), c.ConnConfig.User, err)
	case refused.Code == "53300":
		return fmt.Errorf("the database %s has no connection left: raise its max_connections, or set pool_max_conns in --database (%d for this process): %w", placeOf(c), c.MaxConns, err)
	case refused.Code == "3D000":
		return fmt.Errorf("there is no database %s: create it, or name another one with --database: %w", placeOf(c), err)
	}
	return fmt.Errorf("open the database %s: %w", placeOf(c), err)
}

// tries bounds how often a transaction is run that others stood in the way of.
const tries = 5

// transact implements engine.
func (e *postgresEngine) transact(ctx context.Context, unsynced bool, fn func(*Tx) error) error {
	for try := 1; ; try++ {
		err := e.once(ctx, unsynced, fn)
		if try == tries || !stoodInTheWay(err) {
			return err
		}
	}
}

// stoodInTheWay reports a deadlock or a failure to serialise: nothing has been
// done, and the next try finds the others gone. A commit without an answer is neither.
func stoodInTheWay(err error) bool {
	if _, unknown := errors.AsType[*UnknownError](err); unknown {
		return false
	}
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (refused.Code == "40001" || refused.Code == "40P01")
}

func (e *postgresEngine) once(ctx context.Context, unsynced bool, fn func(*Tx) error) error {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("wait for a connection: %w", err)
	}
	defer func() { _ = conn.Close() }() // it waits for the transaction's end
	begun, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	tx := &Tx{tx: begun, conn: conn}
	if unsynced {
		if err := tx.Queue(func(b *pgx.Batch) { b.Queue("SET LOCAL synchronous_commit = off") }); err != nil {
			return errors.Join(fmt.Errorf("choose when to sync: %w", err), begun.Rollback())
		}
	}
	return finish(ctx, tx, fn)
}

// migratePostgres brings the schema forward under a lock that excludes others
// who would. An older one is left alone unless may is set.
func migratePostgres(ctx context.Context, db *sql.DB, history []migration, may bool) error {
	if current(ctx, db, history) {
		return nil // nobody who changes it, for however long, is waited for
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("lock the schema: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "SET LOCAL lock_timeout = '1min'"); err != nil {
		return fmt.Errorf("bound the wait for the schema: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", lockKey("schema")); err != nil {
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "55P03" {
			return fmt.Errorf("another process has been changing the schema for a minute, or holds its lock; start again once it is done: %w", err)
		}
		return fmt.Errorf("lock the schema: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "SET LOCAL lock_timeout = 0"); err != nil {
		return fmt.Errorf("lock the schema: %w", err)
	}
	if err := refuseForeign(ctx, tx, postgresCatalogue, history); err != nil {
		return err
	}
	// Even IF NOT EXISTS takes the right to create, which a role that only uses the tables need not have.
	const unlessThere = `DO $$ BEGIN IF to_regclass('migrations') IS NULL THEN ` + ownTable + `; END IF; END $$`
	if _, err := tx.ExecContext(ctx, unlessThere); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	err = migrate(ctx, tx, history, may)
	if older, ok := errors.AsType[*OlderSchemaError](err); ok {
		older.Shared = true
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

// current says whether the schema is the one that history ends with. What can't be read, as
// where there is none, is not.
func current(ctx context.Context, db *sql.DB, history []migration) bool {
	version, name := 0, ""
	err := db.QueryRowContext(ctx, `SELECT version, name FROM migrations ORDER BY version DESC LIMIT 1`).Scan(&version, &name)
	return err == nil && version == len(history) && name == history[version-1].name
}

// postgresCatalogue is that of PostgreSQL: of the schema that what is created goes to, and of the history that statements
// find, which may lie in a later one of the search path. Tables of extensions are the database's.
var postgresCatalogue = catalogue{
	tables: `SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE (n.nspname = current_schema() OR c.oid = to_regclass('migrations')) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
		AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`,
	columns: `SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass('migrations') AND attnum > 0 AND NOT attisdropped`,
}

// lockKey is the number of an advisory lock.
func lockKey(name string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("deepfaked " + name))
	return int64(h.Sum64()) //nolint:gosec // any number will do
}

// patience is how long one process waits for another that does what both do one by one.
const patience = time.Minute

// Alone runs fn while no other process on the same PostgreSQL database does so
// under the same name. On SQLite the caller holds the folder's Claim, which keeps
// the others out. Locks are asked for again and again rather than waited for: a
// statement that waits is one that CREATE INDEX CONCURRENTLY in fn would wait for.
// The lock's connection is not one of the pool's, from which fn takes its own.
func (s *Store) Alone(ctx context.Context, name string, fn func() error) error {
	if s.pool == nil {
		return fn()
	}
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // the lock ends with it
	for deadline := time.Now().Add(patience); ; {
		locked := false
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", lockKey(name)).Scan(&locked); err != nil {
			return fmt.Errorf("lock %s: %w", name, err)
		}
		switch {
		case locked:
			return fn()
		case time.Now().After(deadline):
			return fmt.Errorf("another process has been busy with %s of the database for %v; start again once it is done", name, patience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
