// Package metrics counts for Prometheus what the other packages' observers are
// told. README.md lists what there is. Label values come from fixed sets, the
// operator's own models or the routes: never from a request, an account or a
// file.
package metrics
