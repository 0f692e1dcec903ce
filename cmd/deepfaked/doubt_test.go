//go:build gocv_specific_modules

package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// killDecoders ends the decoders and has none start until what it returns is called.
func killDecoders(t *testing.T) (mend func()) {
	t.Helper()
	marker := noDecoders(os.Getpid())
	require.NoError(t, os.WriteFile(marker, nil, 0o600))
	t.Cleanup(func() { _ = os.Remove(marker) })
	for _, pid := range childProcesses(t) {
		if command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.HasSuffix(string(command), "\x00decode\x00") {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	return func() { require.NoError(t, os.Remove(marker)) }
}

// TestAnEngineThatFailsIsLeftAlone: a process whose decoders no longer started, or whose
// GPU was lost, failed each job within milliseconds, and so took all that waited, 186 of
// 200 beside a healthy process, through their attempts in six seconds; it stayed ready.
func TestAnEngineThatFailsIsLeftAlone(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	s := serve(t, unhurried, "--admin", "127.0.0.1:0")
	s.logs.await(t, ready)
	key := newKey(t, s.data, "patient", "pro")
	s.detect(t, key, somePicture(t)).judged(t)
	mend := killDecoders(t)
	var ids []string
	for accepted := (answer{status: 202}); accepted.status == 202 && len(ids) < 8; {
		if accepted = s.detect(t, key, somePicture(t), "async", "true"); accepted.status == 202 {
			ids = append(ids, accepted.id())
		}
	}
	require.NotEmpty(t, ids)
	s.logs.await(t, `"msg":"nothing can be analysed for now`)
	s.get(t, "", "/readyz").want(t, 503, "not_ready")
	status, _ := s.admin(t, "/healthz")
	assert.Equal(t, 503, status, "a restart may help")
	s.detect(t, key, somePicture(t)).want(t, 503, "internal_error")
	for _, id := range ids {
		assert.Equal(t, "processing", s.get(t, key, "/v1/results/"+id).body["status"])
	}
	mend()
	s.logs.await(t, `"msg":"the self-test passes again"`)
	for _, id := range ids {
		assert.Equal(t, "complete", s.finished(t, key, id)["status"])
	}
	s.detect(t, key, somePicture(t)).judged(t)
	status, _ = s.admin(t, "/healthz")
	assert.Equal(t, 200, status)
}
