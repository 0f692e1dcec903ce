package postgrestest

import (
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
)

// Between puts relay between clients and the database of an address, for each connection
// anew, and returns the address for clients. Both ends are closed when relay returns.
func Between(t testing.TB, address string, relay func(client, server net.Conn)) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query, dir := u.Query(), t.TempDir()
	database := filepath.Join(query.Get("host"), ".s.PGSQL."+query.Get("port"))
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432")) //nolint:noctx // ends with the test
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); group.Wait() })
	group.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", database) //nolint:noctx // likewise
			if err != nil {
				t.Error(err)
				_ = client.Close()
				return
			}
			group.Go(func() {
				relay(client, server)
				_, _ = client.Close(), server.Close()
			})
		}
	})
	query.Set("host", dir)
	query.Set("port", "5432")
	u.RawQuery = query.Encode()
	return u.String()
}
