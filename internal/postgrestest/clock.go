package postgrestest

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Behind is the address of what Database returned with a clock that is behind by d:
// to the database, whoever connects there has a clock that is ahead.
func Behind(t testing.TB, address string, d time.Duration) string {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	script := fmt.Sprintf(`
		CREATE SCHEMA IF NOT EXISTS behind;
		CREATE OR REPLACE FUNCTION behind.now() RETURNS timestamptz LANGUAGE sql
		  AS $$ SELECT pg_catalog.now() - interval '%[1]f seconds' $$;
		CREATE OR REPLACE FUNCTION behind.clock_timestamp() RETURNS timestamptz LANGUAGE sql
		  AS $$ SELECT pg_catalog.clock_timestamp() - interval '%[1]f seconds' $$`, d.Seconds())
	if _, err := conn.Exec(ctx, script); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("search_path", "public,behind,pg_catalog")
	u.RawQuery = query.Encode()
	return u.String()
}
