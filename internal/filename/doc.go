// Package filename takes names of files from the command line as they are, and shows them
// to people. To Linux they are bytes, of any encoding or none.
package filename
