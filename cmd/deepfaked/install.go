package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"deepfaked/internal/config"
	"deepfaked/internal/filename"
	"deepfaked/models"
)

// runtimeFlags choose what a model is checked with, and beside which others.
type runtimeFlags struct {
	Provider    *string  `env:"DEEPFAKED_PROVIDER" placeholder:"NAME" help:"auto, cpu, cuda or tensorrt; a GPU that was asked for is never replaced by the CPU (default: ${provider})."`
	ONNXRuntime *string  `name:"onnxruntime" env:"DEEPFAKED_ONNXRUNTIME" placeholder:"PATH" help:"ONNX Runtime's shared library (default: where set-up put it)."`
	Weights     *string  `env:"DEEPFAKED_WEIGHTS" placeholder:"DIR" help:"Folder of the weights of built-in models, which is looked in before weights in the data folder and where set-up puts them (default: none)."`
	Models      []string `env:"DEEPFAKED_MODELS" sep:"none" placeholder:"DIR:..." help:"Folder of further models, besides those in the data folder; may be repeated, and is separated by colons in the environment (default: none)."`
}

func (f runtimeFlags) lay(c *config.Config) {
	set(&c.Provider, f.Provider)
	set(&c.ONNXRuntime, f.ONNXRuntime)
	set(&c.Weights, f.Weights)
	var folders []string
	for _, list := range f.Models {
		folders = append(folders, filename.List(list)...)
	}
	if len(folders) > 0 {
		c.Models = folders
	}
}

// installFlags are those of the commands that add a model.
type installFlags struct {
	configFlags
	dataFlag
	runtimeFlags
	Replace bool `env:"DEEPFAKED_REPLACE" help:"Replace the model of that name (default: a name that is taken is refused)."`
}

func (f installFlags) settings() (config.Config, error) {
	return settings(f.configFlags, f.dataFlag, engineFlags{runtimeFlags: f.runtimeFlags})
}

type modelsAdd struct {
	installFlags
	Folder string `arg:"" help:"Folder with a card.json and the ONNX file that it names."`
}

// run checks the model in every way that the service would, and copies it to
// the folder that the service reads.
func (c *modelsAdd) run(_ context.Context, to streams) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	candidate, err := models.ReadCandidate(c.Folder)
	if err != nil {
		return err
	}
	return install(cfg, candidate, c.Replace, to)
}

func install(cfg config.Config, candidate *models.Candidate, replace bool, to streams) error {
	note, err := admissible(cfg, candidate.Model)
	if err != nil {
		return err
	}
	target, err := candidate.Install(addedModels(cfg), replace)
	if err != nil {
		if errors.Is(err, models.ErrInstalled) {
			err = fmt.Errorf("%w: --replace puts the new one in its place", err)
		}
		return err
	}
	_, err = fmt.Fprintf(to.out, "Added %s in %s; the service uses it when it starts the next time.\n", candidate.Card.Name, filename.Shown(target))
	if err == nil && note != "" {
		_, err = fmt.Fprintf(to.out, "%s: ok; %s\n", candidate.Card.Name, note)
	}
	return err
}

// admissible refuses a model that would keep the service from starting. The note is
// what else there is to say of it, or empty.
func admissible(cfg config.Config, m *models.Model) (note string, err error) {
	if err := suits(cfg, m.Card); err != nil {
		return "", err
	}
	beside, err := others(cfg, m.Card.Name)
	if err != nil {
		return "", err
	}
	if err := agrees(beside, m.Card); err != nil {
		return "", err
	}
	env, err := openRuntime(cfg, len(beside)+1, slog.New(slog.DiscardHandler))
	if err != nil {
		return "", err
	}
	defer func() { _ = env.Close() }()
	return verifyAll(env, m, cfg.Inference.Precision)
}

// agrees says whether a model gets on with those that it would be loaded beside.
func agrees(beside []models.Found, card models.Card) (err error) {
	var cards []models.Card
	for _, f := range beside {
		if f.Model != nil {
			cards = append(cards, f.Model.Card)
		}
	}
	_, err = joined(cards, card)
	return err
}

// others are the models that the service would load beside one that is added under the
// name, without the one that it would replace. The error says that one of them has the
// name, or that the folder has no place for another: the service would not become ready.
// It also says where the folder of that name holds a model of another, which would be lost.
func others(cfg config.Config, name string) ([]models.Found, error) {
	found, err := findModels(cfg)
	if err != nil {
		return nil, err
	}
	added := addedModels(cfg)
	if err := taken(added, found); err != nil {
		return nil, err
	}
	own := filepath.Join(added, name)
	for _, f := range found {
		switch {
		case f.Model == nil || (f.Folder == own) == (f.Model.Card.Name == name): // broken, the one to be replaced, or of no concern
		case f.Folder == own:
			return nil, fmt.Errorf("the folder %s holds the model %s, which would be lost: call its folder %s, or take it away", filename.Shown(own), f.Model.Card.Name, f.Model.Card.Name)
		default:
			return nil, fmt.Errorf("a model is called %s already (%s): give yours another name on its card, or take the other away", name, filename.Shown(f.Folder))
		}
	}
	return slices.DeleteFunc(found, func(f models.Found) bool { return f.Folder == own }), nil
}

// taken says why nothing that is added to a folder would be read: it is the folder of a
// model, or can't be read itself.
func taken(folder string, found []models.Found) error {
	i := slices.IndexFunc(found, func(f models.Found) bool { return f.Folder == folder })
	switch {
	case i < 0:
		return nil
	case found[i].Err != nil:
		return found[i].Err
	}
	return fmt.Errorf("the models folder %s holds the %s of a model itself: move that and its files into a folder of their own in it", folder, models.CardFile)
}
