// Command deepfaked-bench puts load on a running service over its HTTP interface
// and tells how fast it answers.
package main
