package api

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

// arrivals is a listener to which connections come from these addresses in turn.
type arrivals struct {
	from  []string
	peers []net.Conn // the clients' ends
}

func (a *arrivals) Accept() (net.Conn, error) {
	if len(a.from) == 0 {
		return nil, io.EOF
	}
	ours, theirs := net.Pipe()
	addr := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(a.from[0]), 50000))
	a.from, a.peers = a.from[1:], append(a.peers, theirs)
	return &arrived{ours, addr}, nil
}

func (a *arrivals) Close() error   { return nil }
func (a *arrivals) Addr() net.Addr { return &net.TCPAddr{} }

type arrived struct {
	net.Conn
	from net.Addr
}

func (c *arrived) RemoteAddr() net.Addr { return c.from }

// accept takes in all that come, and returns their addresses.
func accept(t *testing.T, l net.Listener) (open []net.Conn, from []netip.Addr) {
	t.Helper()
	for {
		conn, err := l.Accept()
		if err != nil {
			return open, from
		}
		t.Cleanup(func() { _ = conn.Close() })
		open = append(open, conn)
		from = append(from, netip.MustParseAddrPort(conn.RemoteAddr().String()).Addr())
	}
}

// One address without a key shut the whole service out: it opened all of the 4,096
// connections, asked for /healthz on each now and then, and nobody else got one.
func TestConnectionsOfOneAddressAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		greedy [3]string
		let    int // in, of the three
	}{
		"IPv4":            {[3]string{"192.0.2.1", "192.0.2.1", "::ffff:192.0.2.1"}, 2},
		"an IPv6 network": {[3]string{"2001:db8::1", "2001:db8::2", "2001:db8::3"}, 2},
		"three networks":  {[3]string{"2001:db8::1", "2001:db8:0:1::1", "2001:db8:0:2::1"}, 3},
		"this machine":    {[3]string{"127.0.0.1", "127.0.0.1", "127.0.0.1"}, 3},
		"a proxy":         {[3]string{"10.1.2.3", "10.1.2.3", "::ffff:10.1.2.3"}, 3},
		"a proxy's IPv6":  {[3]string{"fd00::1", "fd00::1", "fd00::1"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := &arrivals{from: append(c.greedy[:], "198.51.100.1")}
			l := bounded(in, Options{Connections: 16, ConnectionsPerAddress: 2, TrustedProxies: []string{"10.0.0.0/8", "fd00::1"}})
			open, from := accept(t, l)
			if len(open) != c.let+1 || from[c.let] != netip.MustParseAddr("198.51.100.1") {
				t.Fatalf("let in %v", from)
			}
			_ = in.peers[2].SetReadDeadline(time.Now())
			if _, err := in.peers[2].Read(make([]byte, 1)); errors.Is(err, io.EOF) != (c.let == 2) {
				t.Errorf("the third connection: %v", err)
			}
			// A place is given back once, however often a connection is closed.
			_, _ = open[0].Close(), open[0].Close()
			in.from = []string{c.greedy[0], c.greedy[0]}
			if again, _ := accept(t, l); len(again) != c.let-1 {
				t.Errorf("after one was closed, %d were let in", len(again))
			}
		})
	}
}
