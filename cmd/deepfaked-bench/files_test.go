package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGatherFollowsLinks: a link to a folder, as data sets often are, was "not a
// regular file", and one folder behind a link, or a socket, in a folder of thousands
// of files ended the run before it began.
func TestGatherFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	folder, elsewhere := filepath.Join(dir, "folder"), filepath.Join(dir, "elsewhere")
	place(t, folder, "a.png", pngBytes)
	place(t, elsewhere, "0123", pngBytes)
	place(t, elsewhere, "c.png", pngBytes)
	for name, target := range map[string]string{
		"set": folder, "folder/b.png": filepath.Join(elsewhere, "0123"), "folder/more": elsewhere, "folder/gone": "nowhere", "folder/round": "round",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	t.Chdir(folder) // the path of a socket is short
	var config net.ListenConfig
	socket, err := config.Listen(t.Context(), "unix", "socket")
	require.NoError(t, err)
	defer func() { _ = socket.Close() }()

	var said bytes.Buffer
	files, err := gather([]string{filepath.Join(dir, "set"), "b.png"}, &said)
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	assert.Equal(t, []string{"a.png", "b.png", "b.png"}, names)
	assert.Contains(t, said.String(), "left out, not being media: 4\n")
	_, err = gather([]string{"socket"}, &said)
	assert.ErrorContains(t, err, "socket is not a regular file")
}
