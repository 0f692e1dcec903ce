package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"deepfaked/internal/bucket"
	"deepfaked/internal/config"
	"deepfaked/internal/job"
	"deepfaked/internal/redact"
)

// ownFolder is the address of the place for uploads of jobs that no other data
// folder's processes know.
const ownFolder = "file://"

// jobsFolder is where uploads of jobs wait; empty: in a bucket. The configuration
// has been validated.
func jobsFolder(cfg config.Config) string {
	u, err := url.Parse(cfg.Uploads)
	switch {
	case err != nil, u.Scheme != "file":
		return ""
	case u.Path == "":
		return filepath.Join(cfg.Data, "jobs")
	}
	return filepath.Clean(u.Path)
}

// placeOf names the place where uploads of jobs wait, for an operator.
func placeOf(cfg config.Config) string { return cmp.Or(jobsFolder(cfg), redact.Text(cfg.Uploads)) }

// openUploads opens what keeps the uploads of jobs: the folder that the spool
// parks them in, or a bucket.
func (s *service) openUploads(ctx context.Context) (job.Uploads, error) {
	if strings.HasPrefix(s.cfg.Uploads, "file:") {
		return s.uploads, nil
	}
	b, err := bucket.Open(ctx, s.cfg.Uploads, s.uploads, s.logger)
	if err != nil {
		return nil, err
	}
	s.onClose(b.Close)
	return b, nil
}

// checkFolder shows that a folder that was named for uploads is there and can be
// written to. It is not made: it may be the place for a disk that is not mounted.
func checkFolder(cfg config.Config) error {
	if cfg.Uploads == ownFolder || !strings.HasPrefix(cfg.Uploads, "file:") {
		return nil
	}
	if err := writable(jobsFolder(cfg)); err != nil {
		return fmt.Errorf("uploads: the folder of %s must be there and must be writable for this user: %w", cfg.Uploads, err)
	}
	return nil
}

// writable shows that files can be made in a folder.
func writable(dir string) error {
	probe, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
