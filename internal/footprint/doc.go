// Package footprint reads what a process and its descendants use of a machine, from Linux's
// /proc, and what they may use.
package footprint
