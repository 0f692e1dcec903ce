package api

import (
	"math"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"golang.org/x/net/netutil"

	"deepfaked/internal/account"
)

// bounded lets in opts.Connections at the same time, and of one address, as the
// limiter counts it, opts.ConnectionsPerAddress of them: idle ones cost a client
// nothing, and it must not be able to keep everybody else out with them. Both are
// fewer where the process may have few descriptors: half of those are for files,
// decoders, the database and the probes.
func bounded(l net.Listener, opts Options) net.Listener {
	all := max(1, min(opts.Connections, descriptors()/2))
	return netutil.LimitListener(&addressListener{
		Listener: l, each: max(1, opts.ConnectionsPerAddress*all/opts.Connections), proxies: networks(opts.TrustedProxies), by: map[string]int{},
	}, all)
}

// descriptors is how many this process may have open. Go has raised the limit as far as
// it may be.
func descriptors() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return math.MaxInt
	}
	return int(min(files.Cur, math.MaxInt))
}

// networks reads addresses and networks; routes has refused what is neither.
func networks(proxies []string) []netip.Prefix {
	var all []netip.Prefix
	for _, p := range proxies {
		if network, err := netip.ParsePrefix(p); err == nil {
			all = append(all, network)
		} else if addr, err := netip.ParseAddr(p); err == nil {
			all = append(all, netip.PrefixFrom(addr, addr.BitLen()))
		}
	}
	return all
}

// addressListener closes connections of an address that has enough of them. It
// is safe for concurrent use.
type addressListener struct {
	net.Listener
	each    int
	proxies []netip.Prefix

	mu sync.Mutex
	by map[string]int // open, by address, none of them 0
}

// Accept implements net.Listener.
func (l *addressListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer, _ := netip.ParseAddrPort(conn.RemoteAddr().String()) // as every TCP address can be
		addr := peer.Addr().Unmap().WithZone("")
		if l.isProxy(addr) {
			return conn, nil
		}
		if key := account.AddressKey(addr); l.enter(key) {
			return &addressConn{Conn: conn, leave: sync.OnceFunc(func() { l.leave(key) })}, nil
		}
		_ = conn.Close()
	}
}

// isProxy says that the connections of many clients may come from addr. What runs
// on the same machine is a proxy, too, or the operator's own.
func (l *addressListener) isProxy(addr netip.Addr) bool {
	for _, network := range l.proxies {
		if network.Contains(addr) {
			return true
		}
	}
	return addr.IsLoopback()
}

func (l *addressListener) enter(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by[key] >= l.each {
		return false
	}
	l.by[key]++
	return true
}

func (l *addressListener) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by[key]--; l.by[key] == 0 {
		delete(l.by, key)
	}
}

// addressConn gives its place back when it is closed.
type addressConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *addressConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
