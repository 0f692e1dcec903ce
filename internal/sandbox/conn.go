package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// MessageBytes is the longest message.
const MessageBytes = 64 << 10

// maxFiles is how many descriptors come with one message at most.
const maxFiles = 2

// inheritedFd is where a child finds its socket.
const inheritedFd = 3

// Conn is one end of the socket between server and child: whole messages, with
// descriptors if need be. One goroutine may send while another receives.
type Conn struct {
	unix   *net.UnixConn
	buffer []byte // of the receiving goroutine
}

// socketPair makes the server's end and the descriptor for the child.
func socketPair() (*Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("sandbox: make a socket: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "sandbox")
	ours, err := connOf(fds[0])
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// Inherited is the child's end. Call it once, in the child.
func Inherited() (*Conn, error) { return connOf(inheritedFd) }

// connOf takes fd over, whether it fails or not.
func connOf(fd int) (*Conn, error) {
	file := os.NewFile(uintptr(fd), "sandbox")
	defer func() { _ = file.Close() }()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("sandbox: use descriptor %d as a socket: %w", fd, err)
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("sandbox: descriptor %d is no local socket", fd)
	}
	return &Conn{unix: socket}, nil
}

// Send sends one message, and with it descriptors, which stay open here.
func (c *Conn) Send(message []byte, files ...*os.File) error {
	if len(message) == 0 || len(message) > MessageBytes || len(files) > maxFiles {
		return fmt.Errorf("sandbox: message of %d bytes with %d files", len(message), len(files))
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	if _, _, err := c.unix.WriteMsgUnix(message, rights, nil); err != nil {
		return fmt.Errorf("sandbox: send: %w", err)
	}
	return nil
}

// Receive waits for one message and returns it with its files, which the caller
// closes. The message is valid until the next call. The error matches io.EOF
// when the other end is gone, and os.ErrDeadlineExceeded when the deadline has
// passed.
func (c *Conn) Receive() ([]byte, []*os.File, error) {
	if c.buffer == nil {
		c.buffer = make([]byte, MessageBytes)
	}
	message := c.buffer
	rights := make([]byte, unix.CmsgSpace(4*maxFiles))
	n, r, flags, _, err := c.unix.ReadMsgUnix(message, rights)
	files, malformed := filesOf(rights[:r]) // with an empty message, too, which looks like the end
	switch {
	case gone(err):
		err = fmt.Errorf("sandbox: receive: %w", io.EOF)
	case err != nil:
		err = fmt.Errorf("sandbox: receive: %w", err)
	default:
		err = malformed
	}
	if err == nil && flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = errors.New("sandbox: receive: the message is too long")
	}
	if err != nil {
		CloseAll(files)
		return nil, nil, err
	}
	return message[:n], files, nil
}

// gone says whether err means that the other end is no more: it hung up, with
// messages unread or not, or this end was closed as its process was reaped.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, net.ErrClosed)
}

// Pending says whether a message, or the end of the other side, is waiting to
// be received.
func (c *Conn) Pending() bool {
	pending := true // a closed socket has come to its end
	if raw, err := c.unix.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
			n, err := unix.Poll(polled, 0)
			for errors.Is(err, unix.EINTR) {
				n, err = unix.Poll(polled, 0)
			}
			pending = n != 0
		})
	}
	return pending
}

// filesOf unpacks descriptors. It returns those it got with the error, too.
func filesOf(rights []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, fmt.Errorf("sandbox: receive descriptors: %w", err)
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return files, fmt.Errorf("sandbox: receive descriptors: %w", err)
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}

// SetDeadline ends Send and Receive at t; the zero time means never.
func (c *Conn) SetDeadline(t time.Time) error { return c.unix.SetDeadline(t) }

// Close closes this end. It is safe to call more than once.
func (c *Conn) Close() error {
	if err := c.unix.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// CloseAll closes files that were received.
func CloseAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
