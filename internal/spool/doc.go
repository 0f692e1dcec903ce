// Package spool keeps uploads on disk, or in memory while there is plenty of it, while they are
// received and judged, in files that have no name: whatever happens to the process, nothing
// stays, but what is parked, for work that outlives the process. One in memory is a file
// only once somebody asks for it.
package spool
