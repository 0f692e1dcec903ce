// Package spool keeps uploads on disk, small ones in memory, while they are received
// and judged, in files that have no name: whatever happens to the process, nothing
// stays, but what is parked, for work that outlives the process. A small one is a file
// only once somebody asks for it.
package spool
