package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// shared is the server of this test binary.
var shared struct {
	once   sync.Once
	server *Server
	err    error
	names  atomic.Int64
}

// Database makes an empty database on the shared server, which Stop ends, and
// returns its address. The test is skipped where PostgreSQL is not installed.
func Database(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = start(room()) })
	if errors.Is(shared.err, errAbsent) {
		t.Skip(shared.err)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.Database(t)
}

// OverTCP is the address by TCP, with a password, of what Database returned.
func OverTCP(address string) string { return shared.server.OverTCP(address) }

// Stop ends the shared server, if there is one. TestMain calls it at the end.
func Stop() {
	if shared.server != nil {
		shared.server.remove()
	}
}

// Database makes an empty database and returns its address.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", shared.names.Add(1))
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.Address("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return s.Address(name)
}
