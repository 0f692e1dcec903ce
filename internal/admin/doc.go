// Package admin is the listener for those who run the service: metrics, probes
// and profiles. It knows no keys and hides nothing, so its address must not be
// reachable from where clients are.
package admin
