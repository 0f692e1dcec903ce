package main

import (
	"context"
	"os"
	"strings"
	"testing"
)

// TestMain makes the test binary the program itself where it is started with
// one of its commands, as the server starts its decoder children.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
