// Package fetch gets files whose checksum is known, by HTTP or out of a mirror
// folder, and goes on where an earlier attempt was cut off.
package fetch
