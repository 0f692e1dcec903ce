// Package sandbox starts child processes that parse hostile files: bounded by
// resource limits, with an empty environment, no descriptor but one socket, and
// no life beyond the process that started them. Files reach a child as
// descriptors over that socket.
//
// That contains accidents: crashes, loops, hunger for memory. A child that its
// file has taken over still runs as the server's user, on its file system and
// network. It can start processes that outlive it, signal and trace those of
// that user, and read and write that user's files; only the memory and the
// descriptors of the server are closed to it, and not if the user is root.
//
// Landlock, seccomp and namespaces have their places: what a thread puts on
// itself and a new process inherits belongs into Starter.confine, and what
// clone takes as flags into attributes.
package sandbox
