// Package httplog takes what net/http says of its connections to the log.
package httplog
