package footprint

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	const second, first = "memory.max", "memory.limit_in_bytes"
	for name, c := range map[string]struct {
		groups string
		files  map[string]string
		want   int64
	}{
		"none":            {"", nil, math.MaxInt64},
		"odd":             {"x\n0::\n", map[string]string{second: "much\n"}, math.MaxInt64},
		"a container's":   {"0::/\n", map[string]string{second: "8589934592\n"}, 8 << 30},
		"no limit":        {"0::/\n", map[string]string{second: "max\n"}, math.MaxInt64},
		"a unit's":        {"0::/system.slice/deepfaked.service\n", map[string]string{"system.slice/deepfaked.service/" + second: "4096\n", "system.slice/" + second: "max\n"}, 4096},
		"of what it's in": {"0::/a/b\n", map[string]string{"a/b/" + second: "8192\n", "a/" + second: "4096\n"}, 4096},
		"of version 1":    {"5:cpu,cpuacct:/a\n3:memory:/a\n", map[string]string{"memory/a/" + first: "4096\n", "memory/" + first: "9223372036854771712\n", second: "1\n"}, 4096},
		"unseen":          {"3:memory:/docker/0af\n", map[string]string{"memory/" + first: "4096\n"}, 4096},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range c.files {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
			}
			assert.Equal(t, c.want, memoryLimit(dir, []byte(c.groups)))
		})
	}
	assert.Positive(t, MemoryLimit())
}
