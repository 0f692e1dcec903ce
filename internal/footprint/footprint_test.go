package footprint

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTree: a shell works for a while, and so does a child of it that it waits for
// and one that stays.
func TestTree(t *testing.T) {
	t.Parallel()
	const work = `i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `sh -c '`+work+`'; sleep 1000 & echo ready; read line; kill $!`)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, line)
	u, err := Read(cmd.Process.Pid)
	require.NoError(t, err)
	assert.Equal(t, 2, u.Processes)
	assert.GreaterOrEqual(t, u.CPU, 20*time.Millisecond)
	assert.Greater(t, u.Memory, int64(100<<10))
	assert.Less(t, u.Memory, int64(100<<20))
	require.NoError(t, in.Close())
	_ = cmd.Wait()
	_, err = Read(cmd.Process.Pid)
	assert.ErrorContains(t, err, "there is no process")
}

func TestSelf(t *testing.T) {
	t.Parallel()
	u, err := Read(os.Getpid())
	require.NoError(t, err)
	assert.Greater(t, u.Memory, int64(1<<20))
}

func TestParse(t *testing.T) {
	t.Parallel()
	p, err := parse([]byte("7 (a) b ( c) S 3 7 7 0 -1 4194304 1 2 3 4 100 20 3 4 20 0 1 0 99 1 2 3\n"))
	require.NoError(t, err)
	assert.Equal(t, process{3, 1270 * time.Millisecond}, p)
	for _, wrong := range []string{"", "7 a S 3", "7 (a) S 3 7", "7 (a) S x 7 7 0 -1 4194304 1 2 3 4 100 20 3 4 20", "7 (a) S 3 7 7 0 -1 4194304 1 2 3 4 100 x 3 4 20"} {
		_, err := parse([]byte(wrong))
		assert.Error(t, err, wrong)
	}
}

func TestKilobytes(t *testing.T) {
	t.Parallel()
	n, ok := kilobytes([]byte("Rss: 9 kB\nPss:   12 kB\nPss_Anon: 1 kB\n"), "Pss:")
	assert.True(t, ok)
	assert.Equal(t, int64(12<<10), n)
	for _, wrong := range []string{"", "Pss: 12", "Pss: x kB", "Pss_Anon: 12 kB"} {
		_, ok := kilobytes([]byte(wrong), "Pss:")
		assert.False(t, ok, wrong)
	}
}
