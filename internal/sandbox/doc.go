// Package sandbox starts child processes that parse hostile files: bounded by
// resource limits, with an empty environment, no descriptor but one socket, and
// no life beyond the process that started them. Files reach a child as
// descriptors over that socket.
//
// That contains accidents: crashes, loops, hunger for memory. A child that its
// file has taken over is kept in by two walls. Landlock is put on the thread that
// starts children, which inherit it: but for the program and its libraries no file
// can be opened. A filter of system calls (seccomp) is put on by the child itself, on
// all of its threads, before it is handed a file, as its start needs more calls
// than its work: there are no connections, no other processes, and no way to signal or trace one.
// What is left is to compute, to answer, and to fill memory.
package sandbox
