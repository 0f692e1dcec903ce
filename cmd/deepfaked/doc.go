// Command deepfaked detects deepfakes: it serves the HTTP interface, judges
// files without a server, and administers keys and models.
package main
