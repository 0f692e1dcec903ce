// Package filelock makes one process of a machine the only one that does something.
package filelock
