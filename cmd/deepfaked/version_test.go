package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestVersion: who reports a fault, or measures, must be able to say what it was with. There
// was no flag for that.
func TestVersion(t *testing.T) {
	t.Parallel()
	assert.Regexp(t, `^deepfaked \S.*\(.*go1\.\d+.*\)\n$`, call(t, "--version").ok(t))
	assert.Equal(t, "deepfaked 0123456 (2026-11-26, go1.26.8)", described("0123456789", "2026-11-26T08:00:00Z", false, "go1.26.8"))
	assert.Equal(t, "deepfaked 0123456 with changes (2026-11-26, go1.26.8)", described("0123456789", "2026-11-26T08:00:00Z", true, "go1.26.8"))
	assert.Equal(t, "deepfaked unknown (go1.26.8)", described("", "", false, "go1.26.8"), "built without git")
}
