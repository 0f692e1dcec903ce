// Package load sends requests at times that it chose beforehand and measures how
// they end: open and closed loops, bursts, warm-up and windows until they are
// steady. What a request is, it does not know.
package load
