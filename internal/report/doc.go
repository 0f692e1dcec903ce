// Package report makes the report of a detection: what is known of it, as JSON.
package report
