package postgrestest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
)

// Unheard is a relay for Between that can lose the answer to a COMMIT.
type Unheard struct {
	next atomic.Pointer[unheard]
	away atomic.Bool
}

// unheard is a COMMIT of a transaction in which the client said this.
type unheard struct {
	of   []byte
	away bool
}

// Lose has the next transaction in which the client says this be committed, and its
// connection break before the answer. Where the database is away, from then on all other
// connections break as well, and none is made until it is Back.
func (u *Unheard) Lose(of string, away bool) { u.next.Store(&unheard{[]byte(of), away}) }

// Back lets clients connect again.
func (u *Unheard) Back() { u.away.Store(false) }

// Relay is for Between.
func (u *Unheard) Relay(client, server net.Conn) {
	var said atomic.Bool // what is to be lost, by this client
	go func() {
		defer func() { _, _ = client.Close(), server.Close() }()
		for buffer := make([]byte, 1<<16); !u.away.Load(); {
			n, err := client.Read(buffer)
			if next := u.next.Load(); next != nil && bytes.Contains(buffer[:n], next.of) {
				said.Store(true)
			}
			if u.away.Load() || err != nil {
				return
			}
			if _, err := server.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	for from := bufio.NewReader(server); u.passOn(client, from, &said); {
	}
}

// passOn passes a message of the server on, a letter and the length of the rest, unless
// it is the answer to lose.
func (u *Unheard) passOn(client io.Writer, from *bufio.Reader, said *atomic.Bool) bool {
	head, err := from.Peek(5)
	if err != nil {
		return false
	}
	length := int64(binary.BigEndian.Uint32(head[1:])) + 1
	if head[0] == 'C' && said.Load() { // a statement is complete
		message, _ := from.Peek(int(length))
		if bytes.HasSuffix(message, []byte("COMMIT\x00")) {
			if next := u.next.Swap(nil); next != nil {
				u.away.Store(next.away)
				return false
			}
		}
	}
	_, err = io.CopyN(client, from, length)
	return err == nil
}
