package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"

	"deepfaked/inference/ort"
	"deepfaked/internal/config"
	"deepfaked/models"
)

type modelsList struct {
	configFlags
	engineFlags
}

type modelsVerify struct {
	configFlags
	engineFlags
}

// settings are the configuration with the flags laid over it.
func settings(flags configFlags, engine engineFlags) (config.Config, error) {
	cfg, err := flags.load()
	if err != nil {
		return cfg, err
	}
	engine.lay(&cfg)
	return cfg, check(cfg)
}

func (c *modelsList) run(_ context.Context, to streams) error {
	cfg, err := settings(c.configFlags, c.engineFlags)
	if err != nil {
		return err
	}
	loaded, err := loadModels(cfg)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "NAME\tVERSION\tTASK\tMEASURED ON UNSEEN SOURCES\tLICENCE OF THE WEIGHTS")
	for _, m := range loaded {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", m.Card.Name, m.Card.Version, m.Card.Task, summary(m.Card), m.Card.Licences.Weights)
	}
	return table.Flush()
}

// summary is the first measurement of a card, which is the one on clean media.
func summary(c models.Card) string {
	if len(c.Measured) == 0 {
		return "nothing"
	}
	m := c.Measured[0]
	return fmt.Sprintf("AUC %.2f [%.2f, %.2f], EER %.2f", m.AUC, m.AUCInterval[0], m.AUCInterval[1], m.EER)
}

func (c *modelsVerify) run(_ context.Context, to streams) error {
	cfg, err := settings(c.configFlags, c.engineFlags)
	if err != nil {
		return err
	}
	loaded, err := loadModels(cfg)
	if err != nil {
		return err
	}
	env, err := openRuntime(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { _ = env.Close() }()
	failed := 0
	for _, m := range loaded {
		verdict := "ok"
		if err := verify(env, m); err != nil {
			verdict, failed = strings.ReplaceAll(err.Error(), "\n", "; "), failed+1
		}
		_, _ = fmt.Fprintf(to.out, "%s: %s\n", m.Card.Name, verdict)
	}
	if failed > 0 {
		return errQuiet
	}
	return nil
}

func verify(env *ort.Environment, m *models.Model) error {
	s, err := env.NewSession(m, maxBatch)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return ort.Golden(s, m.Card)
}
