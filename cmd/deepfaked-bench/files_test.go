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
	assert.Equal(t, []string{"a.png", "b.png"}, names)
	assert.Contains(t, said.String(), "left out, not being media: 3\n")
	_, err = gather([]string{"socket"}, &said)
	assert.ErrorContains(t, err, "socket is not a regular file")
}

// TestGatherSaysWhatIsLeftOut: of hidden files nothing was said, so that a folder of them
// had "no file to send"; a link to a folder was not media; and a file that was named twice,
// or reached through a link, was sent twice as often as others.
func TestGatherSaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.png", ".x.png", ".cache/b.png", ".cache/c.png"} {
		place(t, dir, name, pngBytes)
	}
	raw := place(t, dir, "raw", "no media")
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(dir, "more")))
	require.NoError(t, os.Symlink("a.png", filepath.Join(dir, "z.png")))

	var said bytes.Buffer
	files, err := gather([]string{dir, filepath.Join(dir, "z.png"), raw}, &said)
	require.NoError(t, err)
	require.Len(t, files, 2)
	assert.Equal(t, [2]string{"a.png", "raw"}, [2]string{files[0].name, files[1].name}, "who names a file wants it")
	assert.Equal(t, `deepfaked-bench: files that are left out, being there already under this or another name: 2
deepfaked-bench: files that are left out, not being media: 1
deepfaked-bench: hidden files and folders that are left out: 2
deepfaked-bench: links to folders that are left out: 1
`, said.String())
	_, err = gather([]string{filepath.Join(dir, ".cache")}, &said)
	assert.NoError(t, err, "a hidden folder that is named")
}

// TestGatherHasRoomForMedia: archives and notes beside the pictures of a folder, which
// are left out, were counted, and nothing was sent: "the files have more than 1024 MiB together".
func TestGatherHasRoomForMedia(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := place(t, dir, "archive.bin", "no media")
	require.NoError(t, os.Truncate(large, maxContent+1))
	place(t, dir, "picture.png", pngBytes)
	var said bytes.Buffer
	files, err := gather([]string{dir}, &said)
	require.NoError(t, err)
	require.Len(t, files, 1)
	assert.Equal(t, pngBytes, string(files[0].content))
	_, err = gather([]string{large}, &said)
	assert.ErrorContains(t, err, "more than 1024 MiB", "who names a file wants it")
}
