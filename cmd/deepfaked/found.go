package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"deepfaked/internal/config"
	"deepfaked/internal/filename"
	"deepfaked/models"
)

// addedModels is the folder that models add and models pull write to, and that
// is read besides those of the configuration.
func addedModels(cfg config.Config) string { return filepath.Join(cfg.Data, "models") }

// loadModels reads the built-in models, those that were added, and those of the
// operator's folders, as far as they are used, and says of which quality those built in are. The
// first that can't be used is an error; what better model is not used is logged.
func loadModels(cfg config.Config, logger *slog.Logger) (all []*models.Model, quality string, err error) {
	found, err := findModels(cfg)
	if err != nil {
		return nil, "", err
	}
	for _, f := range found {
		switch {
		case f.Err != nil:
			return nil, "", f.Err
		case f.Unused == nil:
			all = append(all, f.Model)
		}
	}
	tellPassed(found, logger)
	return all, qualityOf(found), nil
}

// findModels looks for the same models, and keeps what is wrong with each
// beside it. The error is that of the built-in models, without which nothing
// works.
func findModels(cfg config.Config) ([]models.Found, error) {
	found, err := builtinModels(cfg)
	if err != nil {
		return nil, err
	}
	added := addedModels(cfg)
	if _, err := os.Stat(added); !errors.Is(err, fs.ErrNotExist) {
		found = append(found, scan(added)...)
	}
	for _, dir := range cfg.Models {
		own := scan(dir)
		if len(own) == 0 {
			own = []models.Found{{Folder: dir, Err: fmt.Errorf("models folder %s: %w", filename.Shown(dir), models.ErrNoModel)}}
		}
		found = append(found, own...)
	}
	checkTogether(cfg, found)
	return found, nil
}

// scan makes a folder that can't be read one of its own findings.
func scan(dir string) []models.Found {
	found, err := models.Scan(dir)
	if err != nil {
		return []models.Found{{Folder: dir, Err: err}}
	}
	return found
}

// checkTogether finds out what keeps models that are sound by themselves from
// working here.
func checkTogether(cfg config.Config, found []models.Found) {
	folders := map[string]string{}
	var cards []models.Card // that get on with each other
	for i, f := range found {
		if f.Err != nil {
			continue
		}
		name := f.Model.Card.Name
		found[i].Err = suits(cfg, f.Model.Card)
		if other, ok := folders[name]; ok {
			found[i].Err = fmt.Errorf("two models are called %s (%s; %s): a name must be unique; rename one on its card or take its folder away", name, filename.Shown(other), filename.Shown(f.Folder))
		}
		folders[name] = f.Folder
		if found[i].Err == nil && f.Unused == nil {
			cards, found[i].Err = joined(cards, f.Model.Card)
		}
	}
}

// joined adds a card to others, unless its model can't be shown what theirs are.
func joined(cards []models.Card, card models.Card) ([]models.Card, error) {
	more := append(cards, card)
	if _, err := models.StretchFrames(more); err != nil {
		return cards, err
	}
	return more, nil
}

// suits refuses a model that the decoder does not cut the right windows for.
func suits(cfg config.Config, card models.Card) error {
	if n := card.Preprocessing.WindowSamples; card.Task == models.SpeechSynthesis && n != cfg.Limits.Samples {
		return fmt.Errorf("the model %s listens to windows of %d samples, but limits.samples is %d: they must agree", card.Name, n, cfg.Limits.Samples)
	}
	return nil
}
