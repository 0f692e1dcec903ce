package footprint

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Usage is what the processes of a tree use together.
type Usage struct {
	CPU       time.Duration // since they started, that of ended children included; steps of 10 ms
	Memory    int64         // resident bytes; what processes share counts once where that can be read
	Processes int
}

// root is where the kernel tells of processes.
const root = "/proc"

// Read reads the tree of a process. Processes that end meanwhile are left out; it
// is an error where the first has ended.
func Read(pid int) (Usage, error) {
	all, err := processes()
	if err != nil {
		return Usage{}, err
	}
	if _, ok := all[pid]; !ok {
		return Usage{}, fmt.Errorf("there is no process %d", pid)
	}
	var u Usage
	for _, member := range tree(all, pid) {
		u.CPU += all[member].cpu
		u.Memory += memory(member)
		u.Processes++
	}
	return u, nil
}

// process is one line of the table of processes.
type process struct {
	parent int
	cpu    time.Duration
}

func processes() (map[int]process, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("look for processes: %w", err)
	}
	all := map[int]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(root, e.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		if all[pid], err = parse(stat); err != nil {
			return nil, fmt.Errorf("process %d: %w", pid, err)
		}
	}
	return all, nil
}

// tick is the unit of times in /proc/PID/stat: USER_HZ, which is 100 on every
// machine that Go runs on.
const tick = time.Second / 100

// parse understands /proc/PID/stat (proc_pid_stat(5)): the fourth field is the
// parent, 14 to 17 are the times of the process and of the children that it has
// waited for. The second is a name in parentheses, which may hold anything.
func parse(stat []byte) (process, error) {
	end := bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[end+1:])
	if end < 0 || len(fields) < 15 {
		return process{}, errors.New("its line in /proc is not understood")
	}
	parent, err := strconv.Atoi(string(fields[1]))
	ticks := 0
	for _, field := range fields[11:15] {
		n, wrong := strconv.Atoi(string(field))
		err = errors.Join(err, wrong)
		ticks += n
	}
	return process{parent, time.Duration(ticks) * tick}, err
}

// tree is a process with all its descendants.
func tree(all map[int]process, pid int) []int {
	children := map[int][]int{}
	for child, p := range all {
		children[p.parent] = append(children[p.parent], child)
	}
	members := []int{pid}
	for i := 0; i < len(members); i++ {
		members = append(members, children[members[i]]...)
	}
	return members
}

// memory is the proportional set size, in which pages that processes share are
// divided among them. Of a process that hides itself only the resident set can be
// read. A process that has ended has none.
func memory(pid int) int64 {
	dir := filepath.Join(root, strconv.Itoa(pid))
	if rollup, err := os.ReadFile(filepath.Join(dir, "smaps_rollup")); err == nil {
		if bytes, ok := kilobytes(rollup, "Pss:"); ok {
			return bytes
		}
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return 0
	}
	bytes, _ := kilobytes(status, "VmRSS:")
	return bytes
}

// kilobytes finds a line such as "Pss: 12 kB", in bytes.
func kilobytes(lines []byte, name string) (int64, bool) {
	for line := range bytes.Lines(lines) {
		fields := bytes.Fields(line)
		if len(fields) == 3 && string(fields[0]) == name && string(fields[2]) == "kB" {
			n, err := strconv.ParseInt(string(fields[1]), 10, 64)
			return n << 10, err == nil
		}
	}
	return 0, false
}
