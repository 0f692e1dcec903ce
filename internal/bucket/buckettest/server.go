// Package buckettest runs a real S3-compatible server for tests: versitygw, which
// scripts/setup --tools builds. Its buckets are folders.
package buckettest

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Profiles of the credentials in the file that Credentials writes.
const (
	Root  = "root"  // may do everything
	Guest = "guest" // may do nothing with Root's buckets
)

const secret = "not-a-secret"

// Server is one server, which can be stopped and started again on its port.
type Server struct {
	t       testing.TB
	folder  string
	address string
	cmd     *exec.Cmd
}

// Credentials writes the credentials of the server and returns the file's name,
// which belongs into the environment as AWS_SHARED_CREDENTIALS_FILE.
func Credentials(dir string) (string, error) {
	path, text := filepath.Join(dir, "credentials"), ""
	for _, name := range []string{Root, Guest} {
		text += "[" + name + "]\naws_access_key_id = " + name + "\naws_secret_access_key = " + secret + "\n"
	}
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// Start starts a server with the buckets of these names, and stops it with the
// test, which is skipped where the server is not installed.
func Start(t testing.TB, buckets ...string) *Server {
	t.Helper()
	s := &Server{t: t, folder: t.TempDir()}
	for _, name := range buckets {
		require.NoError(t, os.MkdirAll(s.Folder(name), 0o700))
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.address = l.Addr().String()
	require.NoError(t, l.Close())
	require.NoError(t, os.MkdirAll(filepath.Join(s.folder, "users"), 0o700))
	s.Start()
	t.Cleanup(s.Stop)
	out, err := exec.CommandContext(t.Context(), program(t), "admin", "--endpoint-url", "http://"+s.address, //nolint:gosec // our own tool
		"--access", Root, "--secret", secret, "create-user", "--access", Guest, "--secret", secret, "--role", "user").CombinedOutput()
	require.NoError(t, err, string(out))
	return s
}

// program is the path of the server's program.
func program(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	path := filepath.Join(cache, "deepfaked", "tools", "versitygw")
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("versitygw is not there: .ci/run builds it beforehand")
		}
		t.Skip("versitygw, an S3-compatible server, is not there: run scripts/setup --tools to test with it")
	}
	return path
}

// Start starts the server again after Stop.
func (s *Server) Start() {
	s.t.Helper()
	//nolint:gosec // our own tool
	s.cmd = exec.CommandContext(context.WithoutCancel(s.t.Context()), program(s.t), "--port", s.address, "--access", Root, "--secret", secret,
		"--quiet", "--iam-dir", filepath.Join(s.folder, "users"), "posix", filepath.Join(s.folder, "buckets"))
	require.NoError(s.t, s.cmd.Start())
	require.Eventually(s.t, func() bool {
		r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.address, nil)
		if err != nil {
			return false
		}
		answer, err := http.DefaultClient.Do(r)
		return err == nil && answer.Body.Close() == nil
	}, time.Minute, 10*time.Millisecond, "the server does not start")
	http.DefaultClient.CloseIdleConnections()
}

// Stop kills the server. What it holds stays.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	assert.NoError(s.t, s.cmd.Process.Kill())
	_ = s.cmd.Wait() // it was killed, and says so
	s.cmd = nil
}

// URL is the address of a bucket with these credentials.
func (s *Server) URL(bucket, profile string) string {
	return "s3://" + bucket + "?" + url.Values{
		"endpoint": {"http://" + s.address}, "region": {"us-east-1"}, "use_path_style": {"true"}, "profile": {profile},
	}.Encode()
}

// Folder holds the objects of a bucket, one file each.
func (s *Server) Folder(bucket string) string { return filepath.Join(s.folder, "buckets", bucket) }
