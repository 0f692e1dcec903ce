// Package api serves the detection contract over HTTP: it authenticates,
// limits, reserves quota, spools the upload to disk while hashing it, has it
// judged, and answers. It holds the only table from errors to status codes.
package api
