package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"deepfaked/internal/account"
	"deepfaked/internal/filename"
	"deepfaked/internal/report"
)

// reports writes the report of each file into a folder, as JSON and as a page.
type reports struct {
	dir    *os.Root
	signer *report.Signer // nil: they are not signed
	taken  map[string]bool
}

// openReports makes the folder where it is not there. The caller closes it.
func openReports(dir, key string) (*reports, error) {
	w := &reports{taken: map[string]bool{}}
	var err error
	if key != "" {
		if w.signer, err = readSigner(key); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make the folder of reports: %w", err)
	}
	if w.dir, err = os.OpenRoot(dir); err != nil {
		return nil, fmt.Errorf("open the folder of reports: %w", err)
	}
	return w, nil
}

// Close closes the folder.
func (w *reports) Close() error { return w.dir.Close() }

// write writes the report of a file that was judged, over one of an earlier run.
func (w *reports) write(r judged) error {
	name := w.name(r.File)
	doc := report.New(account.NewDetectionID(), r.begun, r.ended, r.Verdict, *r.Confidence, r.Kind, *r.Report)
	doc.FileName, doc.Size, doc.SHA256 = filename.Sent(r.File), r.size, r.sha256
	if w.signer != nil {
		if err := doc.Sign(w.signer); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("write the report of %s: %w", r.File, err)
	}
	page, err := doc.Page()
	if err != nil {
		return err
	}
	for ending, content := range map[string][]byte{".report.json": append(text, '\n'), ".report.html": page} {
		if err := w.dir.WriteFile(name+ending, content, 0o640); err != nil {
			return fmt.Errorf("write the report of %s: %w", r.File, err)
		}
	}
	return nil
}

// name is what a report's files are called: as the file is, with a number where another one has its name.
func (w *reports) name(file string) string {
	name := filename.Sent(file)
	for n := 2; w.taken[name]; n++ {
		name = filename.Sent(file) + "-" + strconv.Itoa(n)
	}
	w.taken[name] = true
	return name
}
