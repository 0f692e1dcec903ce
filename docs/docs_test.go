// Package docs_test checks what the documents promise of themselves.
package docs_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	root       = ".."
	lineLength = 120       // characters
	designSize = 10 * 1024 // bytes
)

var (
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	code     = regexp.MustCompile("`[^`]*`")
	heading  = regexp.MustCompile(`^#{1,6} +(.*)$`)
	marks    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	target   = regexp.MustCompile("(?:`|^    )make ([a-z-]+)")
	source   = regexp.MustCompile("`([A-Za-z0-9_-][A-Za-z0-9_./-]*/[A-Za-z0-9_.-]+\\.(?:go|py|md|yaml|json|service))`")
	phony    = regexp.MustCompile(`(?m)^\.PHONY: (.*)$`)
	measured = regexp.MustCompile(`(^|/)RESULTS[^/]*\.md$`) // written by scripts, line by line as they like
)

// documents are all Markdown files of the repository, by their paths from its root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	repository := os.DirFS(root)
	err := fs.WalkDir(repository, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		text, err := fs.ReadFile(repository, name)
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 20 {
		t.Fatalf("only %d documents were found", len(found))
	}
	return found
}

// prose is the text without its blocks of code.
func prose(text string) string {
	var kept []string
	fenced := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fenced = !fenced
		case !fenced:
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// anchors are the names that GitHub gives to the headings.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(prose(text)) {
		if h := heading.FindStringSubmatch(strings.TrimSpace(line)); h != nil {
			found[strings.ReplaceAll(strings.ToLower(marks.ReplaceAllString(h[1], "")), " ", "-")] = true
		}
	}
	return found
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	all := documents(t)
	for name, text := range all {
		for _, l := range link.FindAllStringSubmatch(code.ReplaceAllString(prose(text), ""), -1) {
			file, anchor, _ := strings.Cut(l[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			if !exists(to) {
				t.Errorf("%s links to %s, which is not there", name, l[1])
			} else if anchor != "" && !anchors(all[to])[anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", name, l[1], to)
			}
		}
	}
}

// Files are named by their paths from the root, from the document's folder or from the one above.
func TestFilesThatAreNamedAreThere(t *testing.T) {
	t.Parallel()
	for name, text := range documents(t) {
		if measured.MatchString(name) {
			continue
		}
		for _, f := range source.FindAllStringSubmatch(prose(text), -1) {
			if folder := path.Dir(name); !exists(f[1]) && !exists(path.Join(folder, f[1])) && !exists(path.Join(path.Dir(folder), f[1])) {
				t.Errorf("%s names %s, which is not there", name, f[1])
			}
		}
	}
}

func TestTargetsOfMakeAreThere(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for word := range strings.FieldsSeq(phony.FindStringSubmatch(string(makefile))[1]) {
		targets[word] = true
	}
	for name, text := range documents(t) {
		for line := range strings.Lines(text) {
			for _, m := range target.FindAllStringSubmatch(line, -1) {
				if !targets[m[1]] {
					t.Errorf("%s says make %s, which the Makefile does not know", name, m[1])
				}
			}
		}
	}
}

// Rows of tables can't be broken, and a line that is one link neither.
func TestLinesAreShort(t *testing.T) {
	t.Parallel()
	for name, text := range documents(t) {
		if measured.MatchString(name) {
			continue
		}
		number := 0
		for line := range strings.Lines(text) {
			number++
			line = strings.TrimRight(line, "\n")
			if !strings.HasPrefix(strings.TrimSpace(line), "|") && utf8.RuneCountInString(line) > lineLength {
				t.Errorf("%s:%d has more than %d characters", name, number, lineLength)
			}
		}
	}
}

func TestDocumentsAreShort(t *testing.T) {
	t.Parallel()
	all := documents(t)
	if lines, words := strings.Count(all["README.md"], "\n"), len(strings.Fields(all["README.md"])); lines > 120 || words > 900 {
		t.Errorf("the README has %d lines and %d words, and may have 120 and 900", lines, words)
	}
	for line := range strings.Lines(all["README.md"]) {
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > lineLength {
			t.Errorf("a line of the README has more than %d characters: %s", lineLength, line)
		}
	}
	designs := 0
	for name, text := range all {
		if path.Base(name) != "DESIGN.md" {
			continue
		}
		designs++
		if len(text) > designSize {
			t.Errorf("%s has %d bytes, and may have %d", name, len(text), designSize)
		}
	}
	if designs == 0 {
		t.Error("no DESIGN.md was found")
	}
}
