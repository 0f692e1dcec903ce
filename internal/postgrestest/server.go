package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"
)

// Password is that of the user postgres, who must give it over TCP.
const Password = "not-to-be-logged"

// errAbsent says that there is nothing to start.
var errAbsent = errors.New("PostgreSQL is not there: run scripts/setup --tests")

// Server is a PostgreSQL server of a test's own.
type Server struct {
	dir  string
	bin  string
	port int
	as   *syscall.Credential
	life io.WriteCloser // open as long as the server is to live
	cmd  *exec.Cmd
}

// Start starts a server that ends with the test, in memory where there is room.
// The test is skipped where PostgreSQL is not installed.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartIn(t, room())
}

// StartIn is Start with the server's files in a folder of this one, such as one
// on a disk.
func StartIn(t testing.TB, dir string) *Server {
	t.Helper()
	s, err := start(dir)
	if errors.Is(err, errAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remove)
	return s
}

func start(in string) (_ *Server, err error) {
	s := &Server{}
	if s.bin, err = programs(); err != nil {
		return nil, err
	}
	if s.as, err = nobody(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp(in, "postgres"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.remove()
		}
	}()
	if err := s.initialise(); err != nil {
		return nil, err
	}
	return s, s.Run()
}

// programs is the folder of the newest version's.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // Debian's place
	if err != nil || len(found) == 0 {
		return "", errAbsent
	}
	slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) })
	return filepath.Dir(found[len(found)-1]), nil
}

// nobody is whom the server runs as when we are root, whom it refuses to run for.
func nobody() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nobody else
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, bad := strconv.ParseUint(who.Uid, 10, 32)
	gid, worse := strconv.ParseUint(who.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(bad, worse)
}

// room is a folder in memory if there is enough of it.
func room() string {
	const memory, enough = "/dev/shm", 2 << 30
	var free unix.Statfs_t
	if unix.Statfs(memory, &free) == nil && int64(free.Bavail)*free.Bsize > enough && unix.Access(memory, unix.W_OK) == nil { //nolint:gosec // far below 2^63
		return memory
	}
	return os.TempDir()
}

func (s *Server) initialise() error {
	password := filepath.Join(s.dir, "password")
	if err := os.WriteFile(password, []byte(Password), 0o600); err != nil {
		return err
	}
	if s.as != nil {
		for _, path := range []string{s.dir, password} {
			if err := os.Chown(path, int(s.as.Uid), int(s.as.Gid)); err != nil {
				return err
			}
		}
	}
	out, err := s.command(context.Background(), filepath.Join(s.bin, "initdb"), "--pgdata", s.data(), "--username", "postgres", "--encoding", "UTF8",
		"--no-locale", "--no-sync", "--auth-local", "trust", "--auth-host", "scram-sha-256", "--pwfile", password).CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.port = listener.Addr().(*net.TCPAddr).Port
	return listener.Close()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // for tests alone
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true}
	return cmd
}

// untilAbandoned is a server that ends with the first line of its standard input.
// Without a line, when the tests were killed, it leaves nothing behind.
const untilAbandoned = `"$@" </dev/null >log 2>&1 &
read -r _ && keep=1
kill -QUIT $!
wait $!
[ "$keep" ] || rm -rf "$0"`

// Run starts the server, or starts it again after Kill, and returns once it
// answers.
func (s *Server) Run() error {
	input, life, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = input.Close() }()
	s.cmd = s.command(context.Background(), "/bin/sh", "-c", untilAbandoned, s.dir, filepath.Join(s.bin, "postgres"), "-D", s.data(),
		"-p", strconv.Itoa(s.port), "-k", s.dir, "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=300", "-c", "shared_buffers=64MB",
		"-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "max_wal_size=256MB")
	s.cmd.Stdin, s.life = input, life
	if err := s.cmd.Start(); err != nil {
		return errors.Join(err, life.Close())
	}
	for deadline := time.Now().Add(time.Minute); ; {
		conn, err := pgx.Connect(context.Background(), s.Address("postgres"))
		if err == nil {
			return conn.Close(context.Background())
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("PostgreSQL does not start: %w: %s", err, log)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// Kill ends the server as a crash would.
func (s *Server) Kill() {
	if s.life == nil {
		return
	}
	_, _ = s.life.Write([]byte("end\n"))
	_ = s.cmd.Wait()
	_ = s.life.Close()
	s.life = nil
}

func (s *Server) remove() {
	s.Kill()
	_ = os.RemoveAll(s.dir)
}

// Address is that of a database, by the server's socket.
func (s *Server) Address(name string) string {
	return fmt.Sprintf("postgres:///%s?host=%s&port=%d&user=postgres", name, s.dir, s.port)
}

// OverTCP is the address of a database that takes a password, given one of
// Address.
func (s *Server) OverTCP(address string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(address, "postgres:///"), "?")
	return fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/%s?sslmode=disable", Password, s.port, name)
}
