package models

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"
)

// candidate reads a folder of a model of the name, with a licence and with a
// file that is none of the model's.
func candidate(t *testing.T, name string) *Candidate {
	t.Helper()
	files := folder(t, name)
	files["LICENSE"] = &fstest.MapFile{Data: []byte("terms")}
	files["notes.txt"] = &fstest.MapFile{Data: []byte("none of the model's")}
	c, err := ReadCandidate(writeTree(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestInstallWritesTheModelAndItsLicence(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "there")
	target, err := candidate(t, "first").Install(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	names := listing(t, target)
	if len(names) != 3 || names[0] != "LICENSE" || names[1] != CardFile || names[2] != "model.onnx" {
		t.Errorf("installed %q", names)
	}
	found, err := scanned(dir)
	if err != nil || joinNames(found) != "first" {
		t.Errorf("loaded %q, %v", joinNames(found), err)
	}
	if left := listing(t, dir); len(left) != 1 {
		t.Errorf("the models folder has %q", left)
	}
}

// TestInstallTakesAFolderOfLicences: where the licences lay in a folder, as REUSE has
// it, that was read as if it were a file, and the model was refused.
func TestInstallTakesAFolderOfLicences(t *testing.T) {
	t.Parallel()
	files := folder(t, "first")
	files["LICENSES/MIT.txt"] = &fstest.MapFile{Data: []byte("terms")}
	files["LICENSES/old/MIT.txt"] = &fstest.MapFile{Data: []byte("not looked for")}
	files["NOTICES/x"] = &fstest.MapFile{Data: []byte("not looked for")}
	c, err := ReadCandidate(writeTree(t, files))
	if err != nil {
		t.Fatal(err)
	}
	target, err := c.Install(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	terms, err := os.ReadFile(filepath.Join(target, "LICENSES", "MIT.txt"))
	if err != nil || string(terms) != "terms" {
		t.Errorf("the licence is %q, %v", terms, err)
	}
	if names := listing(t, target); len(names) != 3 {
		t.Errorf("installed %q", names)
	}
}

// A licence file that was a link had whatever it led to, such as a key of root's, who installs, copied
// to where all may read who may read the models. A link within the folder is what it leads to.
func TestInstallFollowsNoLinkOutOfTheFolder(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := folder(t, "first")
	files["terms"] = &fstest.MapFile{Data: []byte("terms")}
	dir := writeTree(t, files)
	link := filepath.Join(dir, "LICENSE")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadCandidate(dir); err == nil || !strings.Contains(err.Error(), "LICENSE, which must lie in the folder") {
		t.Errorf("a link out of the folder: %v", err)
	}
	if err := errors.Join(os.Remove(link), os.Symlink("terms", link)); err != nil {
		t.Fatal(err)
	}
	c, err := ReadCandidate(dir)
	if err != nil {
		t.Fatal(err)
	}
	if terms := c.texts["LICENSE"]; string(terms) != "terms" {
		t.Errorf("the licence is %q", terms)
	}
}

func listing(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestInstallReplacesOnlyWhenTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := candidate(t, "first")
	if _, err := old.Install(dir, false); err != nil {
		t.Fatal(err)
	}
	next := candidate(t, "first")
	next.texts["LICENSE"] = []byte("new terms")
	if _, err := next.Install(dir, false); !errors.Is(err, ErrInstalled) {
		t.Errorf("a second model of the name gave %v, want ErrInstalled", err)
	}
	checkTerms(t, dir, "terms")
	if _, err := next.Install(dir, true); err != nil {
		t.Fatal(err)
	}
	checkTerms(t, dir, "new terms")
	if left := listing(t, dir); len(left) != 1 {
		t.Errorf("the models folder has %q", left)
	}
}

// TestReplacingLeavesNoGap: the old model was moved away before the new one was moved in, and who
// was killed between the two, or read the folder there, had no model of the name.
func TestReplacingLeavesNoGap(t *testing.T) {
	t.Parallel()
	dir, next := t.TempDir(), candidate(t, "first")
	target, err := next.Install(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Renameat2(unix.AT_FDCWD, target, unix.AT_FDCWD, t.TempDir(), unix.RENAME_EXCHANGE); err != nil {
		t.Skipf("the file system can't exchange folders: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			if _, err := next.Install(dir, true); err != nil {
				t.Error(err)
			}
		}
	}()
	for gaps := 0; ; {
		if _, err := os.Lstat(target); err != nil {
			gaps++
		}
		select {
		case <-done:
			if gaps > 0 {
				t.Errorf("the model was not there %d times", gaps)
			}
			return
		default:
		}
	}
}

// TestReplacingInTurn is what is done where the file system can't exchange folders.
func TestReplacingInTurn(t *testing.T) {
	t.Parallel()
	work, target := filepath.Join(t.TempDir(), ".installing-1"), filepath.Join(t.TempDir(), "first")
	fresh := filepath.Join(work, "new")
	if err := errors.Join(os.MkdirAll(fresh, 0o700), os.Mkdir(target, 0o700), os.WriteFile(filepath.Join(target, "mark"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := placeInTurn(work, target); err != nil || len(listing(t, target)) != 0 || listing(t, work)[0] != former {
		t.Errorf("%v: in the place is %q, and beside it %q", err, listing(t, target), listing(t, work))
	}
	// What can't be replaced stays.
	if err := errors.Join(os.RemoveAll(work), os.Mkdir(work, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := placeInTurn(work, target); err == nil || len(listing(t, work)) != 0 {
		t.Errorf("%v, with %q in %s", err, listing(t, work), work)
	}
	listing(t, target)
}

// TestInstallSweeps: what a killed installation had written lay in the models folder for good.
// What is younger may be another's work, and what was moved away the last of its model.
func TestInstallSweeps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".installing-1/new", ".installing-2/new", ".installing-3/old", "other/new"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-25 * time.Hour)
	for _, name := range []string{".installing-1", ".installing-3", "other"} {
		if err := os.Chtimes(filepath.Join(dir, name), past, past); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := candidate(t, "first").Install(dir, false); err != nil {
		t.Fatal(err)
	}
	if left, want := listing(t, dir), []string{".installing-2", ".installing-3", "first", "other"}; !slices.Equal(left, want) {
		t.Errorf("there are %q, want %q", left, want)
	}
}

// TestReplacingTheWorkingDirectory: with a relative --data, from within the model's folder or
// through a link to it, moving that away made all other paths lead elsewhere: the old model was
// taken away and the new one was not put in its place.
func TestReplacingTheWorkingDirectory(t *testing.T) { //nolint:paralleltest // one working directory in a process
	for _, linked := range []bool{false, true} {
		dir := t.TempDir()
		here, err := candidate(t, "first").Install(dir, false)
		if err != nil {
			t.Fatal(err)
		}
		if linked {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(here, link); err != nil {
				t.Fatal(err)
			}
			here = link
		}
		next := candidate(t, "first")
		next.texts["LICENSE"] = []byte("new terms")
		t.Chdir(here)
		if _, err := next.Install("..", true); err != nil {
			t.Error(err)
		}
		checkTerms(t, dir, "new terms")
		if left := listing(t, dir); len(left) != 1 {
			t.Errorf("the models folder has %q", left)
		}
	}
}

func checkTerms(t *testing.T, dir, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "first", "LICENSE"))
	if err != nil || !bytes.Equal(got, []byte(want)) {
		t.Errorf("the licence is %q, %v; want %q", got, err, want)
	}
}

// TestWhatIsBeingInstalledIsNotRead: an interrupted installation leaves a folder
// behind, which must not become a model.
func TestWhatIsBeingInstalledIsNotRead(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, tree(map[string]fstest.MapFS{"first": folder(t, "first"), ".installing-1": folder(t, "half")}))
	found, err := scanned(dir)
	if err != nil || joinNames(found) != "first" {
		t.Errorf("loaded %q, %v", joinNames(found), err)
	}
}

func TestReadCandidateRefusesABrokenFolder(t *testing.T) {
	t.Parallel()
	files := folder(t, "first")
	files["model.onnx"].Data = []byte("other")
	_, err := ReadCandidate(writeTree(t, files))
	checkField(t, err, "sha256")
	// One that is not there was told of as its card.
	if _, err := ReadCandidate("no/such/folder"); err == nil || err.Error() != "model folder no/such/folder: no such file or directory" {
		t.Errorf("without a folder: %v", err)
	}
	if _, err := ReadCandidate(t.TempDir()); err == nil {
		t.Error("an empty folder was read")
	}
}
