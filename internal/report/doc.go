// Package report makes the report of a detection: what is known of it, as JSON
// for programs, which may be signed, and as a page for people.
package report
