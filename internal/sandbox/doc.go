// Package sandbox starts child processes that parse hostile files: bounded by
// resource limits, with an empty environment, no descriptor but one socket, and
// no life beyond the process that started them. Files reach a child as
// descriptors over that socket.
//
// Landlock, seccomp and namespaces have their places: what a thread puts on
// itself and a new process inherits belongs into Starter.confine, and what
// clone takes as flags into attributes.
package sandbox
