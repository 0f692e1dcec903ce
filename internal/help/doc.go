// Package help prints the help of commands.
package help
