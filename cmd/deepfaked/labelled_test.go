package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree makes empty files in folders of a new folder.
func tree(t testing.TB, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	return dir
}

// TestNearestFolderTells what is genuine and what is fake.
func TestNearestFolderTells(t *testing.T) {
	t.Parallel()
	dir := tree(t, "a/b/real/x.jpg", "fake/gan/y.png", "fake/real/z.png", "real/v/fake/w/u.png", "notes.txt", "a/q.jpg",
		"really/n.jpg", "Fake/n.jpg", "real/.DS_Store", ".git/real/c.jpg")
	l, err := findLabelled(t.Context(), dir)
	require.NoError(t, err)
	got := map[string]bool{}
	for _, name := range l.names {
		short, err := filepath.Rel(dir, name)
		require.NoError(t, err)
		got[filepath.ToSlash(short)] = l.fake[name]
	}
	assert.Equal(t, map[string]bool{"a/b/real/x.jpg": false, "fake/gan/y.png": true, "fake/real/z.png": false, "real/v/fake/w/u.png": true}, got)
	var out bytes.Buffer
	l.tellLeftOut(&out)
	assert.Equal(t, "deepfaked: 4 files are left out, because they are in no folder called real or fake\n"+
		"deepfaked: 2 files or folders are left out, because their names begin with a dot\n", out.String())
}

// TestKindIsTheFolderBelowTheLabel: how deep a file lies below it makes no difference.
func TestKindIsTheFolderBelowTheLabel(t *testing.T) {
	t.Parallel()
	dir := tree(t, "set/real/portraits/x/1.jpg", "real/portraits/2.jpg", "fake/3.jpg", "fake/gan/real/4.jpg", "fake/gan/real/scans/5.jpg")
	l, err := findLabelled(t.Context(), dir)
	require.NoError(t, err)
	got := map[string]string{}
	for name, kind := range l.kind {
		got[filepath.Base(name)] = kind
	}
	assert.Equal(t, map[string]string{"1.jpg": "portraits", "2.jpg": "portraits", "3.jpg": "", "4.jpg": "", "5.jpg": "scans"}, got)
}

// TestLinks: media are often linked from where they lie, and a link can lead back.
func TestLinks(t *testing.T) {
	t.Parallel()
	elsewhere, dir := tree(t, "x.jpg", "deep/y.jpg", "other/w.jpg"), tree(t, "fake/z.jpg")
	for from, to := range map[string]string{
		"real": filepath.Join(elsewhere, "deep"), "fake/again": dir, "fake/linked.jpg": filepath.Join(elsewhere, "other", "w.jpg"), "fake/gone.jpg": "/nonexistent",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, from)))
	}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	l, err := findLabelled(t.Context(), link)
	require.NoError(t, err)
	var names []string
	for _, name := range l.names {
		short, err := filepath.Rel(link, name)
		require.NoError(t, err)
		names = append(names, filepath.ToSlash(short))
	}
	assert.Equal(t, []string{"fake/gone.jpg", "fake/linked.jpg", "fake/z.jpg", "real/y.jpg"}, names)
}

// TestAFileFoundTwice: what links lead to counted as often as it was found, with an interval
// as narrow as if these were files of their own, and even as genuine and as fake.
func TestAFileFoundTwice(t *testing.T) {
	t.Parallel()
	dir := tree(t, "real/a.jpg", "real/sub/b.jpg", "fake/c.jpg")
	for from, to := range map[string]string{"real/link.jpg": "a.jpg", "real/sub2": "sub", "real/zz": "sub"} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, from)))
	}
	l, err := findLabelled(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "fake/c.jpg"), filepath.Join(dir, "real/a.jpg"), filepath.Join(dir, "real/sub/b.jpg")}, l.names)
	var out bytes.Buffer
	l.tellLeftOut(&out)
	assert.Equal(t, "deepfaked: 3 files or folders are left out, because they have been found before by other names\n", out.String())
	require.NoError(t, os.Link(filepath.Join(dir, "fake/c.jpg"), filepath.Join(dir, "real/c.jpg")))
	_, err = findLabelled(t.Context(), dir)
	require.ErrorAs(t, err, new(usageError))
	assert.ErrorContains(t, err, "are one file, which can't be in a folder called real and in one called fake")
}

// TestAClassThatIsAway: a link called real whose disk was not mounted was counted as a
// file in no such folder, so that eval measured without the class and exited with 0.
func TestAClassThatIsAway(t *testing.T) {
	t.Parallel()
	dir := tree(t, "a/real/x.jpg", "fake/y.jpg")
	away := filepath.Join(dir, "b", "real")
	require.NoError(t, os.Mkdir(filepath.Dir(away), 0o700))
	require.NoError(t, os.Symlink("/nonexistent", away))
	l, err := findLabelled(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, []string{away + ": The folder cannot be read: no such file or directory."}, l.closed)
	assert.Zero(t, l.unlabelled)
	assert.Len(t, l.names, 2)
}

// TestAFolderThatCannotBeRead: one of another user ended eval with nothing judged. It
// is told and counts as failed, and what else there is is judged. Nothing is closed to
// root, so the folder is read by a function that refuses.
func TestAFolderThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := tree(t, "fake/y.jpg", "real/sub/secret/z.jpg", "real/x.jpg")
	refused := map[string]bool{filepath.Join(dir, "real", "sub", "secret"): true}
	read := func(dir string) ([]fs.DirEntry, error) {
		if refused[dir] {
			return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrPermission}
		}
		return os.ReadDir(dir)
	}
	l := newLabelled(read)
	require.NoError(t, l.find(t.Context(), dir))
	assert.Equal(t, []string{filepath.Join(dir, "fake", "y.jpg"), filepath.Join(dir, "real", "x.jpg")}, l.names)
	var out bytes.Buffer
	l.tellLeftOut(&out)
	assert.Equal(t, "deepfaked: "+filepath.Join(dir, "real", "sub", "secret")+": The folder cannot be read: permission denied.\n", out.String())
	e := evaluate(t.Context(), &jury{}, labelled{closed: l.closed}, streams{err: &out})
	assert.Equal(t, [2]int{1, 1}, [2]int{e.files, e.failed})
	refused[filepath.Join(dir, "fake")], refused[filepath.Join(dir, "real")] = true, true
	l = newLabelled(read)
	require.ErrorContains(t, l.find(t.Context(), dir), "holds no file that can be read")
	refused[dir] = true
	require.ErrorIs(t, l.find(t.Context(), dir), fs.ErrPermission)
}

// TestFoldersThatAreLinkedTwice: where each of some folders had two links to the next, all ways
// to the last were walked: with 20 of them eval began after minutes, with 40 never, and told
// of a single file beside them as of a hundred thousand.
func TestFoldersThatAreLinkedTwice(t *testing.T) {
	t.Parallel()
	const links = 16 // 2¹⁶ ways
	dir := tree(t, "real/x.jpg", "notes.txt")
	for i := range links {
		from := filepath.Join(dir, "d"+strconv.Itoa(i))
		require.NoError(t, os.Mkdir(from, 0o700))
		for _, name := range []string{"a", "b"} {
			require.NoError(t, os.Symlink(filepath.Join(dir, "d"+strconv.Itoa(i+1)), filepath.Join(from, name)))
		}
	}
	last := filepath.Join(dir, "d"+strconv.Itoa(links))
	require.NoError(t, os.MkdirAll(filepath.Join(last, "fake"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(last, "fake", "y.jpg"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(last, "z.jpg"), nil, 0o600))
	reads := 0
	l := newLabelled(func(dir string) ([]fs.DirEntry, error) {
		reads++
		return os.ReadDir(dir)
	})
	require.NoError(t, l.find(t.Context(), dir))
	assert.Equal(t, links+4, reads, "each folder is read once")
	assert.Len(t, l.names, 2)
	assert.Equal(t, 2, l.unlabelled)
}

// TestAFolderThatACircleCutShort: a way on which a link is not followed, since it leads back to where
// it came from, stood for a later one that leads there under a label, and the files were lost.
func TestAFolderThatACircleCutShort(t *testing.T) {
	t.Parallel()
	dir := tree(t, "a/x.jpg", "b/notes.txt", "real/y.jpg")
	require.NoError(t, os.Symlink("../b", filepath.Join(dir, "a", "set")))
	require.NoError(t, os.Symlink("../a", filepath.Join(dir, "b", "fake")))
	l, err := findLabelled(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "b", "fake", "x.jpg"), filepath.Join(dir, "real", "y.jpg")}, l.names)
	assert.True(t, l.fake[l.names[0]])
}

// TestLookingForFilesIsInterrupted: the first Ctrl-C was not heeded before all files had been found.
func TestLookingForFilesIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	reads := 0
	l := newLabelled(func(dir string) ([]fs.DirEntry, error) {
		if reads++; reads == 2 { // the second is a folder of two in the first
			cancel()
		}
		return os.ReadDir(dir)
	})
	require.ErrorIs(t, l.find(ctx, tree(t, "fake/x.jpg", "fake/more/z.jpg", "real/y.jpg")), errInterrupted)
	assert.Equal(t, 2, reads)
}

// TestEvalUsage: what is wrong with the folder is said before anything is loaded.
func TestEvalUsage(t *testing.T) {
	t.Parallel()
	file := write(t, "x.jpg", nil)
	for name, c := range map[string]struct {
		args  []string
		words []string
	}{
		"no folder":     {nil, []string{"dir", "deepfaked eval --help"}},
		"absent":        {[]string{"/nonexistent"}, []string{"/nonexistent", "no such file"}},
		"a file":        {[]string{file}, []string{file, "not a folder"}},
		"nothing in it": {[]string{tree(t, "x.jpg", "a/y.jpg")}, []string{"no file in a folder called real or fake"}},
		"empty folders": {[]string{tree(t, "real/.hidden")}, []string{"no file in a folder called real or fake"}},
		"plots":         {[]string{"--plots", file, tree(t, "real/x.jpg")}, []string{file, "not a directory"}},
		"closed plots":  {[]string{"--plots", "/proc/self", tree(t, "real/x.jpg")}, []string{"plots can't be written", "/proc/self"}}, // was found after hours
		"prior":         {[]string{"--prior", "0.1", tree(t, "real/x.jpg")}, []string{"eval takes no --prior", "weigh the same"}},     // it was ignored without a word
		"sensitivity":   {[]string{"--sensitivity", "strict", tree(t, "real/x.jpg")}, []string{"--sensitivity"}},                      // all are measured
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := call(t, append([]string{"eval"}, c.args...)...)
			s.refused(t, exitUsage, c.words...)
			assert.Empty(t, s.out)
		})
	}
}
