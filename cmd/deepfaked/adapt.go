package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"deepfaked/internal/config"
	"deepfaked/models"
	"deepfaked/models/adapt"
	"deepfaked/models/catalogue"
)

// adaptModel makes a model folder at out of an entry that is published as ONNX.
func adaptModel(cfg config.Config, e catalogue.Entry, source, out string) error {
	onnx, err := os.ReadFile(filepath.Join(source, e.Adapt.File))
	if err != nil {
		return err
	}
	wrapped, input, output, err := adapt.Wrap(onnx, e.Adapt.Spec)
	if err != nil {
		return fmt.Errorf("%s can't be adapted: %w", e.Adapt.File, err)
	}
	model := &models.Model{Card: e.Card(wrapped, input, output), ONNX: wrapped}
	if model.Card.Golden.Output, err = selfTest(cfg, model); err != nil {
		return err
	}
	text, err := json.MarshalIndent(model.Card, "", "  ")
	if err != nil {
		return err
	}
	if err := os.Mkdir(out, 0o700); err != nil {
		return err
	}
	return writeInto(out, map[string][]byte{model.Card.File: wrapped, models.CardFile: append(text, '\n')})
}

// writeInto writes files to a folder, and never beside it.
func writeInto(dir string, files map[string][]byte) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for name, data := range files {
		if err := root.WriteFile(name, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// selfTest runs a model on the row of its self-test, for a card that does not
// know the output yet.
func selfTest(cfg config.Config, m *models.Model) (float64, error) {
	env, err := openRuntime(cfg, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		return 0, err
	}
	defer func() { _ = env.Close() }()
	s, err := env.NewSession(m, 1)
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.Close() }()
	m.Card.Golden.Fill(s.Row(0))
	logits, err := s.Run(1)
	if err != nil {
		return 0, err
	}
	return float64(logits[0]), nil
}
