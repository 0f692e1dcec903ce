package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"deepfaked/internal/filename"
	"deepfaked/internal/report"
)

// verifyCommand checks a report without a server. Whoever relies on one has it exit with 0 only where all holds.
type verifyCommand struct {
	PublicKey *string `env:"DEEPFAKED_PUBLIC_KEY" placeholder:"FILE" help:"Public key (PEM) of the service that should have signed, from its /.well-known/deepfaked.pem (default: the key that the report names, whose owner nobody vouches for)."`
	Report    string  `arg:"" help:"Report in JSON."`
	File      string  `arg:"" optional:"" help:"File that it should be about."`
}

// longestReport bounds what is read of a report: with a thousand faces one has less than a megabyte.
const longestReport = 64 << 20

func (c *verifyCommand) run(_ context.Context, to streams) error {
	text, err := readReport(c.Report)
	if err != nil {
		return err
	}
	doc, key, err := report.Verify(text)
	switch {
	case errors.Is(err, report.ErrUnsigned):
		return c.fails(to, "%s is not signed: anybody may have written it.", c.Report)
	case errors.Is(err, report.ErrForged):
		return c.fails(to, "%s has been changed since it was signed.", c.Report)
	case err != nil:
		return fmt.Errorf("%s: %w", c.Report, err)
	}
	if c.PublicKey != nil {
		wanted, err := readPublicKey(*c.PublicKey)
		if err != nil {
			return err
		}
		if wanted.Fingerprint() != key.Fingerprint() {
			return c.fails(to, "%s is signed with another key than that of %s.", c.Report, *c.PublicKey)
		}
	}
	if c.File != "" {
		sum, err := sumOf(c.File)
		if err != nil {
			return err
		}
		if sum != doc.SHA256 {
			return c.fails(to, "%s is as it was signed, but it is about another file than %s.", c.Report, c.File)
		}
	}
	return c.holds(to, doc, key)
}

// fails says in a sentence what does not hold.
func (c *verifyCommand) fails(to streams, format string, names ...any) error {
	for i, name := range names {
		names[i] = filename.Shown(fmt.Sprint(name))
	}
	if _, err := fmt.Fprintf(to.out, format+"\n", names...); err != nil {
		return err
	}
	return errQuiet
}

// holds says in a sentence what does.
func (c *verifyCommand) holds(to streams, doc *report.Document, key report.PublicKey) error {
	by := "the key that it names itself"
	if c.PublicKey != nil {
		by = "the key of " + filename.Shown(*c.PublicKey)
	}
	about := "it is about the file with the SHA-256 " + doc.SHA256
	if c.File != "" {
		about = filename.Shown(c.File) + " is the file that it is about"
	}
	_, err := fmt.Fprintf(to.out, "%s is as %s signed it, and %s, which was judged %s (%s).\n", filename.Shown(c.Report), by, about, doc.Verdict, doc.Assessment)
	if err == nil && c.PublicKey == nil {
		_, err = fmt.Fprintf(to.err, "deepfaked: anybody can make such a key: compare its SHA-256, %s, or name with --public-key the one that the service has at /.well-known/deepfaked.pem\n", key.Fingerprint())
	}
	return err
}

func readReport(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, longestReport+1))
	if err == nil && len(text) > longestReport {
		err = fmt.Errorf("%s is too long to be a report", name)
	}
	return text, err
}

func readPublicKey(name string) (report.PublicKey, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return report.PublicKey{}, err
	}
	key, err := report.ParsePublicKey(text)
	if err != nil {
		return report.PublicKey{}, fmt.Errorf("%s: %w", name, err)
	}
	return key, nil
}

func sumOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read the file: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
