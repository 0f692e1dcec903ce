// Package filename takes names of files from the command line as they are, shows them
// to people, and tells whether two are of one file. To Linux they are bytes, of any encoding or none.
package filename
