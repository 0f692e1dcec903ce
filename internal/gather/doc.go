// Package gather has those who come at the same time share a run, such as a
// transaction and its sync to disk, without anybody waiting for others to come.
package gather
