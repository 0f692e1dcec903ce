package footprint

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryLimit is what the control groups of this process, such as a container's or a unit's of systemd, let it have
// of memory together with its children; math.MaxInt64 where they don't say.
func MemoryLimit() int64 {
	groups, err := os.ReadFile(filepath.Join(root, "self", "cgroup"))
	if err != nil {
		return math.MaxInt64
	}
	return memoryLimit("/sys/fs/cgroup", groups)
}

// memoryLimit reads the limits of the groups that the lines of /proc/PID/cgroup (cgroups(7)) name, whose files lie in
// the folder mounted: of version 2, whose line begins with 0::, or of version 1. A group has the limits of all
// above it, too. Those that a container does not see are left out: it sees its own as the root.
func memoryLimit(mounted string, groups []byte) int64 {
	limit := int64(math.MaxInt64)
	for line := range bytes.Lines(groups) {
		fields := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(fields) != 3 {
			continue
		}
		dir, file := mounted, "memory.max"
		switch {
		case fields[1] == "memory":
			dir, file = filepath.Join(mounted, "memory"), "memory.limit_in_bytes"
		case fields[1] != "":
			continue
		}
		for group := filepath.Join("/", fields[2]); ; group = filepath.Dir(group) {
			limit = min(limit, number(filepath.Join(dir, group, file)))
			if group == "/" {
				break
			}
		}
	}
	return limit
}

// number is that in a file, math.MaxInt64 where there is none, as where the file says max.
func number(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}
