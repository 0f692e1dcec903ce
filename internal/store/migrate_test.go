package store

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/postgrestest"
)

func version(t *testing.T, s *Store) int {
	t.Helper()
	var n int
	require.NoError(t, s.Reader().QueryRowContext(t.Context(), `SELECT max(version) FROM migrations`).Scan(&n))
	return n
}

// published is what this version knows of a database's history.
func (b backend) published() []migration {
	if b.opts.Database != "" {
		return postgresMigrations()
	}
	return sqliteMigrations()
}

func TestMigrateOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b backend) {
		t.Helper()
		for range 2 {
			assert.Equal(t, len(b.published()), version(t, b.open(t)))
		}
	})
}

// Processes that are started at the same time on a new database must all come up.
// On a machine of many cores one of eight was told at once that SQLite's is
// locked, whatever the busy timeout: both had begun to switch it to WAL.
func TestMigrateInParallel(t *testing.T) {
	t.Parallel()
	for range 3 {
		onBoth(t, func(t *testing.T, b backend) {
			t.Helper()
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					s, err := Open(t.Context(), b.dir, b.opts)
					if assert.NoError(t, err) {
						assert.NoError(t, s.Close())
					}
				})
			}
			group.Wait()
		})
	}
}

func TestRefuseANewerSchema(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b backend) {
		t.Helper()
		s := b.open(t)
		known := version(t, s)
		require.NoError(t, s.Write(t.Context(), func(tx *Tx) error {
			_, err := tx.ExecContext(t.Context(), `INSERT INTO migrations (version, name) VALUES (99, 'future')`)
			return err
		}))
		_, err := Open(t.Context(), b.dir, b.opts)
		var newer *NewerSchemaError
		require.ErrorAs(t, err, &newer)
		assert.Equal(t, NewerSchemaError{Found: 99, Known: known}, *newer)
		assert.ErrorContains(t, err, "run the newer deepfaked")
		assert.ErrorContains(t, err, b.dir)
	})
}

// What another program's database in the place of ours holds: no history, one in a form of its own, one that looks like
// ours, as long as it or not, and one without a name, which could not be read and was therefore switched to WAL.
func foreign(b backend) map[string]string {
	const like = `CREATE TABLE orders (x INTEGER); CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL); `
	return map[string]string{
		"no history":        `CREATE TABLE orders (x INTEGER)`,
		"another history":   `CREATE TABLE migrations (id INTEGER, migration TEXT)`,
		"a similar history": like + `INSERT INTO migrations (version, name) VALUES (1, '0001_orders.sql')`,
		"as long a history": like + fmt.Sprintf(`INSERT INTO migrations (version, name) VALUES (%d, '0001_orders.sql')`, len(b.published())),
		"an empty history":  like,
		"without a name":    `CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT); INSERT INTO migrations (version) VALUES (1)`,
	}
}

// The tables of the service were made among those of another program, whose file was put at the database's path, or whose
// schema --database named; the file was switched to WAL, and closed to its group.
func TestRefuseAForeignDatabase(t *testing.T) {
	t.Parallel()
	for name := range foreign(backend{}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, b backend) {
				t.Helper()
				b.run(t, foreign(b)[name])
				before := b.fingerprint(t)
				for _, reading := range []bool{false, true} {
					b.opts.Reading = reading
					_, err := Open(t.Context(), b.dir, b.opts)
					require.ErrorIs(t, err, errForeign)
					require.ErrorContains(t, err, "open the database")
				}
				if b.opts.Database == "" {
					_, err := openReading(t.Context(), b.dir, b.opts, b.published())
					require.ErrorIs(t, err, errForeign, "where nothing can be written")
				}
				assert.Equal(t, before, b.fingerprint(t))
			})
		})
	}
}

// With an empty schema of the user's name before it in the search path, another program's history was taken for ours: no
// table was found where ours would be, and its version for the one that ours had.
func TestRefuseAForeignHistoryOfAnotherSchema(t *testing.T) {
	t.Parallel()
	b := backend{"", DefaultOptions()}
	b.opts.Database = postgrestest.Database(t)
	b.run(t, foreign(b)["a similar history"]+`; CREATE SCHEMA mine`)
	address, err := url.Parse(b.opts.Database)
	require.NoError(t, err)
	query := address.Query()
	query.Set("search_path", "mine,public")
	address.RawQuery = query.Encode()
	b.opts.Database = address.String()
	_, err = Open(t.Context(), b.dir, b.opts)
	require.ErrorIs(t, err, errForeign)
}

// A database in which nothing but the table of the history was made is ours to fill.
func TestTakeAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b backend) {
		t.Helper()
		b.run(t, ownTable)
		assert.Equal(t, len(b.published()), version(t, b.open(t)))
	})
}

// run runs statements of another program on the database, which it makes where it is a file.
func (b backend) run(t *testing.T, script string) {
	t.Helper()
	if b.opts.Database == "" {
		path := filepath.Join(b.dir, FileName)
		db, err := openCompiled("file:" + path)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), script)
		require.NoError(t, err)
		require.NoError(t, db.Close())
		require.NoError(t, os.Chmod(path, 0o640))
		return
	}
	conn, err := pgx.Connect(t.Context(), b.opts.Database)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), script)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}

// fingerprint is what shows that a database was changed: a file's permissions and bytes, or the tables.
func (b backend) fingerprint(t *testing.T) string {
	t.Helper()
	if b.opts.Database == "" {
		path := filepath.Join(b.dir, FileName)
		info, err := os.Stat(path)
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return fmt.Sprintf("%v %x", info.Mode(), sha256.Sum256(text))
	}
	conn, err := pgx.Connect(t.Context(), b.opts.Database)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close(t.Context())) }()
	var tables string
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relnamespace = current_schema()::regnamespace`).Scan(&tables))
	return tables
}

// All or nothing: a script that fails half way leaves the schema as it was.
func TestMigrateForwards(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b backend) {
		t.Helper()
		history := []migration{{"0001_first.sql", `CREATE TABLE first (x INTEGER); CREATE TABLE more (x INTEGER);`}}
		at := func(more ...migration) error {
			s, err := b.openAt(t.Context(), slices.Concat(history, more))
			if err != nil {
				return err
			}
			return s.Close()
		}
		require.NoError(t, at())
		require.ErrorContains(t, at(migration{"0002_broken.sql", `CREATE TABLE half (x INTEGER); CREATE TABEL;`}), "0002_broken.sql")
		require.ErrorContains(t, at(migration{"0003_gap.sql", ""}), "should begin with 0002_")
		require.NoError(t, at(migration{"0002_whole.sql", `CREATE TABLE half (x INTEGER)`}), "nothing was left of the broken one")
		require.Error(t, at(), "there is no way back")
	})
}

// Open migrated before anything was claimed: a newer `serve`, refused because an
// older one was running, or any newer `keys`, had by then changed the schema
// under the older one's feet.
func TestAnOlderSchemaIsLeftToTheClaimant(t *testing.T) {
	t.Parallel()
	dir, history := t.TempDir(), []migration{{"0001_first.sql", `CREATE TABLE first (x INTEGER);`}}
	plain := DefaultOptions()
	plain.Migrate = false
	old, err := openSQLite(t.Context(), dir, plain, history)
	require.NoError(t, err, "there is nobody to disturb in a new folder")
	t.Cleanup(func() { assert.NoError(t, old.Close()) })
	again, err := openSQLite(t.Context(), dir, plain, history)
	require.NoError(t, err, "nothing is to be done")
	require.NoError(t, again.Close())

	history = append(history, migration{"0002_second.sql", `CREATE TABLE second (x INTEGER);`})
	_, err = openSQLite(t.Context(), dir, plain, history)
	var older *OlderSchemaError
	require.ErrorAs(t, err, &older)
	assert.Equal(t, OlderSchemaError{Found: 1, Known: 2}, *older)
	require.ErrorContains(t, err, "stop the service")
	require.ErrorContains(t, err, dir)
	assert.Equal(t, 1, version(t, old))

	// Where nothing can be written, as a backup often is, no service would help.
	_, err = openReading(t.Context(), dir, DefaultOptions(), history)
	require.ErrorContains(t, err, "is of an older version")
	require.ErrorContains(t, err, "copy the data folder")
	require.NotContains(t, err.Error(), "stop the service")

	claimed, err := openSQLite(t.Context(), dir, DefaultOptions(), history)
	require.NoError(t, err)
	require.NoError(t, claimed.Close())
	assert.Equal(t, 2, version(t, old))
}

// Any newer `keys`, `keys list` too, migrated PostgreSQL: an old process that crashed afterwards could not start
// again, although nobody had begun to renew the service.
func TestAnOlderSchemaOfPostgresIsLeftToServices(t *testing.T) {
	t.Parallel()
	b, history := onPostgres(t), []migration{{"0001_first.sql", `CREATE TABLE first (x INTEGER);`}}
	open := func(may bool) (*Store, error) {
		b.opts.Migrate = may
		return b.openAt(t.Context(), history)
	}
	old, err := open(false)
	require.NoError(t, err, "there is nobody to disturb in an empty database")
	t.Cleanup(func() { assert.NoError(t, old.Close()) })

	history = append(history, migration{"0002_second.sql", `CREATE TABLE second (x INTEGER);`})
	_, err = open(false)
	var older *OlderSchemaError
	require.ErrorAs(t, err, &older)
	assert.Equal(t, OlderSchemaError{Found: 1, Known: 2, Shared: true}, *older)
	require.ErrorContains(t, err, "start a service of this version")
	require.NotContains(t, err.Error(), "stop the service")
	assert.Equal(t, 1, version(t, old))

	service, err := open(true)
	require.NoError(t, err)
	require.NoError(t, service.Close())
	assert.Equal(t, 2, version(t, old))
	again, err := open(false)
	require.NoError(t, err, "nothing is to be done")
	require.NoError(t, again.Close())
}

// While a service is renewed, a version that knows the schema's first step works
// on, next to one that has made the second.
func TestOldAndNewSideBySide(t *testing.T) {
	t.Parallel()
	b := backend{"", DefaultOptions()}
	b.opts.Database = postgrestest.Database(t)
	history := postgresMigrations()
	older, err := b.openAt(t.Context(), history)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, older.Close()) })
	add := func(s *Store, id string) error {
		return s.Write(t.Context(), func(tx *Tx) error { return insertAccount(t.Context(), tx, id) })
	}
	require.NoError(t, add(older, "a"))
	newer, err := b.openAt(t.Context(), append(history, migration{fmt.Sprintf("%04d_more.sql", len(history)+1),
		`ALTER TABLE accounts ADD COLUMN note TEXT NOT NULL DEFAULT ''; CREATE TABLE more (x INTEGER)`}))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, newer.Close()) })
	require.NoError(t, add(older, "b"))
	require.NoError(t, add(newer, "c"))
	assert.Equal(t, 3, accounts(t, older))
}

// takesAway finds what a version that is still running could stumble over.
var takesAway = regexp.MustCompile(`(?i)\bDROP\b|\bRENAME\b|\bTRUNCATE\b|\bSET NOT NULL\b|\bTYPE\b|\bADD CONSTRAINT\b|ADD COLUMN (\w+ )+NOT NULL\s*[,;]`)

// The rule of DESIGN.md for what follows a schema's first step on PostgreSQL.
func TestMigrationsOnlyAdd(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]bool{
		"DROP TABLE x;": true, "ALTER TABLE x RENAME y TO z;": true, "ALTER TABLE x ALTER y TYPE text;": true,
		"ALTER TABLE x ADD COLUMN y TEXT NOT NULL;": true, "ALTER TABLE x ADD COLUMN y TEXT NOT NULL DEFAULT '';": false,
		"ALTER TABLE x ADD COLUMN y TEXT;": false, "CREATE TABLE x (y TEXT NOT NULL);": false, "CREATE INDEX y ON x (z);": false,
	} {
		assert.Equal(t, want, takesAway.MatchString(script), script)
	}
	for _, m := range postgresMigrations()[1:] {
		assert.NotRegexp(t, takesAway, m.script, m.name)
	}
}
