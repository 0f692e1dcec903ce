package preprocess_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"deepfaked/preprocess/decode"
)

// childMode is the environment variable that turns the test binary into a
// decoder child. Its value says how the child behaves.
const childMode = "DEEPFAKED_TEST_CHILD"

func TestMain(m *testing.M) {
	switch mode := os.Getenv(childMode); mode {
	case "":
		goleak.VerifyTestMain(m)
	case "decode":
		if err := decode.Main(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		misbehave(mode)
	}
}
