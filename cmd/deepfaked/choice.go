package main

import (
	"errors"
	"log/slog"
	"time"

	"deepfaked/inference/ort"
	"deepfaked/models"
)

// choice is a model as it is to be run, and what is to be run where that fails.
type choice struct {
	*models.Model

	next []*models.Model // the same model in other precisions, the quickest first; empty where one was asked for
}

// try does something with what is to be run. A variant that fails is passed over for good,
// which is logged, and the next one tried.
func (c *choice) try(logger *slog.Logger, do func(*models.Model) error) error {
	for {
		err := do(c.Model)
		if err == nil || len(c.next) == 0 || !passable(err) {
			return err
		}
		logger.Warn("a model's variant fails here, it is not run", "model", c.Card.Name, "precision", c.Precision, "error", err.Error())
		c.Model, c.next = c.next[0], c.next[1:]
	}
}

// passable says whether a model may do without a variant that failed so. That the card
// describes another graph is for whoever made it to know.
func passable(err error) bool {
	_, other := errors.AsType[*ort.GraphError](err)
	return !other && !errors.Is(err, ort.ErrClosed)
}

// toRun are the models as they are to be run.
func toRun(chosen []choice) []*models.Model {
	all := make([]*models.Model, len(chosen))
	for i, c := range chosen {
		all[i] = c.Model
	}
	return all
}

// prepare makes the sessions of what is to be run, proves them, and with measure times
// its batches.
func (c *choice) prepare(env *ort.Environment, measure bool, logger *slog.Logger) (sessions []*ort.Session, took []time.Duration, err error) {
	err = c.try(logger, func(m *models.Model) (err error) {
		sessions, took, err = prepare(env, m, measure)
		return err
	})
	return sessions, took, err
}

// prepare leaves no session behind where it fails.
func prepare(env *ort.Environment, m *models.Model, measure bool) ([]*ort.Session, []time.Duration, error) {
	var took []time.Duration
	sessions, err := env.NewSessions(m, largestBatch(env.Provider()))
	if err == nil {
		err = prove(env.Provider(), sessions, m.Card, ort.Golden)
	}
	if err == nil && measure {
		took, err = sessions[0].Time(timing)
	}
	if err == nil {
		return sessions, took, nil
	}
	if m.Precision != "" {
		err = variantError(m.Precision, err)
	}
	return nil, nil, errors.Join(err, closeSessions(sessions))
}

// closeSessions closes them all.
func closeSessions(sessions []*ort.Session) error {
	var errs []error
	for _, s := range sessions {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
