package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"

	"deepfaked/inference/ort"
	"deepfaked/internal/config"
	"deepfaked/internal/filename"
	"deepfaked/models"
)

type modelsList struct {
	configFlags
	dataFlag
	engineFlags
}

type modelsVerify struct {
	configFlags
	dataFlag
	engineFlags
}

type modelsSchema struct{}

// settings are the configuration with the flags laid over it.
func settings(flags configFlags, data dataFlag, more ...interface{ lay(c *config.Config) }) (config.Config, error) {
	cfg, err := flags.load()
	if err != nil {
		return cfg, err
	}
	set(&cfg.Data, data.Data)
	for _, m := range more {
		m.lay(&cfg)
	}
	return cfg, check(cfg)
}

func (c *modelsSchema) run(_ context.Context, to streams) error {
	_, err := to.out.Write(models.CardSchema())
	return err
}

func (c *modelsList) run(_ context.Context, to streams) error {
	cfg, err := settings(c.configFlags, c.dataFlag, c.engineFlags)
	if err != nil {
		return err
	}
	found, err := findModels(cfg)
	if err != nil {
		return err
	}
	failed := 0
	table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "NAME\tVERSION\tTASK\tMEASURED ON UNSEEN SOURCES\tLICENCE OF THE WEIGHTS\tFOLDER")
	for _, f := range found {
		if f.Err != nil {
			failed++
			_, _ = fmt.Fprintln(to.err, "deepfaked:", oneLine(f.Err))
			continue
		}
		c := f.Model.Card
		folder := filename.Shown(f.Folder)
		unused := f.Unused
		if used := usedOf(found, c); unused == nil && used != c.Name {
			unused = &replacedError{used}
		}
		if unused != nil {
			folder += ", not used: " + oneLine(unused)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", c.Name, filename.Shown(c.Version), c.Task, summary(c), filename.Shown(c.Licences.Weights), folder)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return quietly(failed)
}

// usedOf is the name of the model that is used where c is among the models found: of those that judge every one
// takes part, of the others the service uses one for each task.
func usedOf(found []models.Found, c models.Card) string {
	if c.Task.Judges() {
		return c.Name
	}
	var sound []models.Card
	for _, f := range found {
		if f.Err == nil && f.Unused == nil {
			sound = append(sound, f.Model.Card)
		}
	}
	return models.Used(sound, c.Task).Name
}

// quietly fails where something failed that has been reported. Joined with another
// error it would keep that one quiet, too.
func quietly(failed int) error {
	if failed > 0 {
		return errQuiet
	}
	return nil
}

func oneLine(err error) string { return strings.ReplaceAll(filename.Told(err), "\n", "; ") }

// summary is the first measurement of a card, which is the one on clean media.
func summary(c models.Card) string {
	if c.Detection != nil && len(c.Detection.Measured) > 0 {
		m := c.Detection.Measured[0]
		return fmt.Sprintf("recall %.2f [%.2f, %.2f], precision %.2f", m.Recall, m.RecallInterval[0], m.RecallInterval[1], m.Precision)
	}
	if c.Activity != nil && len(c.Activity.Measured) > 0 {
		m := c.Activity.Measured[0]
		return fmt.Sprintf("speech found in %d of %d", m.Speech, m.Sounds)
	}
	if len(c.Measured) == 0 {
		return "nothing"
	}
	m := c.Measured[0]
	return fmt.Sprintf("AUC %.2f [%.2f, %.2f], EER %.2f", m.AUC, m.AUCInterval[0], m.AUCInterval[1], m.EER)
}

func (c *modelsVerify) run(_ context.Context, to streams) error {
	cfg, err := settings(c.configFlags, c.dataFlag, c.engineFlags)
	if err != nil {
		return err
	}
	found, err := findModels(cfg)
	if err != nil {
		return err
	}
	env, err := openRuntime(cfg, len(found), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { _ = env.Close() }()
	failed := 0
	for _, f := range found {
		if f.Unused != nil {
			continue
		}
		label := filename.Shown(f.Folder)
		if f.Model != nil {
			label = f.Model.Card.Name
		}
		verdict := "ok"
		if f.Err == nil {
			var note string
			if note, f.Err = verifyAll(env, f.Model, cfg.Inference.Precision); note != "" {
				verdict += "; " + note
			}
		}
		if f.Err != nil {
			verdict, failed = oneLine(f.Err), failed+1
		}
		if _, err := fmt.Fprintf(to.out, "%s: %s\n", label, verdict); err != nil {
			return err
		}
	}
	return quietly(failed)
}

// verify runs the model's self-test wherever the service would run the model, in batches
// of one and of most rows; making the sessions compares its graph with the card.
func verify(env *ort.Environment, m *models.Model, most int) error {
	sessions, err := provable(env, m, most)
	if err != nil {
		return err
	}
	defer func() { _ = closeSessions(sessions) }()
	return prove(env.Provider(), sessions, m.Card, ort.Golden)
}

// provable makes the sessions of a model that prove tests.
func provable(env *ort.Environment, m *models.Model, most int) ([]*ort.Session, error) {
	if env.Provider() != ort.CPU {
		return env.NewSessions(m, most)
	}
	s, err := env.NewSession(m, most)
	if err != nil {
		return nil, err
	}
	return []*ort.Session{s}, nil
}
