package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"deepfaked/inference/ort"
	"deepfaked/internal/config"
	"deepfaked/models"
)

// What built-in models may be chosen by, where there are several of a task. Those that judge best
// have weights that are fetched apart.
const (
	qualityAuto = "auto" // best, where its weights are there, else fast
	qualityBest = "best"
	qualityFast = "fast"
)

// errFast is why a model is not used that would be there.
var errFast = errors.New("quality " + qualityFast + " was asked for")

// replacedError is why a model is not used in whose place a better one is.
type replacedError struct{ by string }

// Error names the better one.
func (e *replacedError) Error() string { return e.by + " takes its place" }

// builtinModels are the built-in models, of which one of each task is used. The error is that of a
// broken build.
func builtinModels(cfg config.Config) ([]models.Found, error) {
	builtin, err := models.Builtin()
	if err != nil {
		return nil, err // it says that they are built in
	}
	found := make([]models.Found, len(builtin))
	for i, m := range builtin {
		found[i] = models.Found{Model: m, Folder: "built in"}
	}
	choose(found, cfg.Inference.Quality, weightsFolders(cfg))
	return found, nil
}

// weightsFolders are where the weights of built-in models may lie, in the order in which they are
// looked for: beside ONNX Runtime they lie in an image.
func weightsFolders(cfg config.Config) []string {
	var folders []string
	if cfg.Weights != "" {
		folders = append(folders, cfg.Weights)
	}
	folders = append(folders, filepath.Join(cfg.Data, "weights"))
	if cache, err := os.UserCacheDir(); err == nil {
		folders = append(folders, filepath.Join(cache, "deepfaked", "weights"))
	}
	if library, err := ort.FindLibrary(cfg.ONNXRuntime, ort.Provider(cfg.Provider)); err == nil {
		folders = append(folders, filepath.Dir(library))
	}
	return folders
}

// choose finds out which of the built-in models of each task is used, and marks the others.
func choose(found []models.Found, quality string, folders []string) {
	best := map[models.Task]string{}
	for i := range found {
		f := &found[i]
		card := f.Model.Card
		spare := slices.ContainsFunc(found, func(o models.Found) bool { return o.Model.Card.Task == card.Task && o.Model.Card.Weights == nil })
		switch {
		case card.Weights == nil:
			continue
		case best[card.Task] != "":
			f.Unused = &replacedError{best[card.Task]}
			continue
		case quality == qualityFast && spare:
			f.Unused = errFast
			continue
		}
		switch err := f.Model.FindWeights(folders...); {
		case err == nil:
			best[card.Task] = card.Name
		case quality == qualityAuto && spare:
			f.Unused = fmt.Errorf("%w; make setup or deepfaked models pull %s gets it", err, card.Name)
		case spare:
			f.Err = fmt.Errorf("%w, and quality %s was asked for: make setup or deepfaked models pull %s gets it, or ask for %s", err, quality, card.Name, qualityFast)
		default:
			f.Err = fmt.Errorf("%w: make setup or deepfaked models pull %s gets it", err, card.Name)
		}
	}
	for i, f := range found {
		if by := best[f.Model.Card.Task]; by != "" && f.Model.Card.Weights == nil {
			found[i].Unused = &replacedError{by}
		}
	}
}

// qualityOf says what the models that are used come to: fast where a better one is passed over.
func qualityOf(found []models.Found) string {
	passed := func(f models.Found) bool {
		_, replaced := errors.AsType[*replacedError](f.Unused)
		return f.Unused != nil && !replaced
	}
	if slices.ContainsFunc(found, passed) {
		return qualityFast
	}
	return qualityBest
}

// tellPassed logs which better models are not used though nobody asked for that.
func tellPassed(found []models.Found, logger *slog.Logger) {
	for _, f := range found {
		_, replaced := errors.AsType[*replacedError](f.Unused)
		const message = "a built-in model that judges better is not used"
		switch {
		case f.Unused == nil || replaced || errors.Is(f.Unused, errFast):
		case errors.Is(f.Unused, models.ErrNoWeights):
			logger.Info(message, "model", f.Model.Card.Name, "reason", f.Unused.Error())
		default:
			logger.Warn(message, "model", f.Model.Card.Name, "reason", f.Unused.Error())
		}
	}
}
