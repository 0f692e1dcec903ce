package filename

import (
	"io/fs"
	"syscall"
)

// Identity tells files apart, whatever they are called.
type Identity struct{ device, inode uint64 }

// IdentityOf is that of a file; false where its file system tells none.
func IdentityOf(info fs.FileInfo) (Identity, bool) {
	of, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}, false
	}
	return Identity{of.Dev, of.Ino}, true
}
