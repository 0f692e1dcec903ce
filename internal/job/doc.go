// Package job analyses submissions after they have been accepted: it owns their
// files until they are judged, and enters the outcome into the books. Jobs lie in
// the database that the books are in, on River, and their files beside it: what
// has been accepted outlives the process.
package job
