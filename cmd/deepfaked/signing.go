package main

import (
	"context"
	"fmt"
	"os"

	"deepfaked/internal/config"
	"deepfaked/internal/report"
	"deepfaked/internal/store"
)

// reportKeyFlag names the key of reports.
type reportKeyFlag struct {
	ReportKey *string `env:"DEEPFAKED_REPORT_KEY" placeholder:"FILE" help:"Private key (Ed25519, PEM) that signs reports (default: ${report_key})."`
}

// openSigner is what signs the reports of a service: the key that is named, or else that of the database, which the
// first process makes and all share.
func openSigner(ctx context.Context, cfg config.Config, books *store.Store) (*report.Signer, error) {
	if cfg.ReportKey != "" {
		return readSigner(cfg.ReportKey)
	}
	key, err := books.Secret(ctx, "report-key", report.NewKey)
	if err != nil {
		return nil, err
	}
	signer, err := report.NewSigner(key)
	if err != nil {
		return nil, fmt.Errorf("the key of reports in the database: %w", err)
	}
	return signer, nil
}

// readSigner reads a private key.
func readSigner(name string) (*report.Signer, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the key of reports: %w", err)
	}
	signer, err := report.NewSigner(text)
	if err != nil {
		return nil, fmt.Errorf("the key of reports in %s: %w", name, err)
	}
	return signer, nil
}
