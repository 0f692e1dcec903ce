package bucket

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"deepfaked/internal/bucket/buckettest"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "bucket-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	file, err := buckettest.Credentials(dir)
	if err == nil {
		err = os.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}
