package inference

import (
	"fmt"
	"runtime/debug"
)

// guarded turns a panic in fn into an error. What judges pixels of strangers runs
// in goroutines of its own, where a panic would end the whole service instead of
// one request.
func guarded(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return fn()
}
