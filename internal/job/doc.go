// Package job analyses submissions after they have been accepted: it owns their
// files until they are judged, and enters the outcome into the books. The
// runner here keeps its queue in memory, so jobs end with the process.
package job
