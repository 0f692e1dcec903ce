// Package policy tells the kernel how this process is to be treated: which of its
// threads wait for which, and what pages lie behind its memory.
package policy
