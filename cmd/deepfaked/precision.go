package main

import (
	"errors"
	"fmt"
	"log/slog"

	"deepfaked/inference/ort"
	"deepfaked/models"
)

// What models may be told to calculate in.
const (
	precisionAuto = "auto" // 8 bits on a CPU that gets them right, else full
	precisionFull = "full" // as the card's own file has it
)

// inPrecision returns the models as they are to be run. Processors without
// instructions for it let sums of bytes overflow without a word: 8 bits have to pass
// the variant's self-test here, or auto keeps to the full precision.
func inPrecision(env *ort.Environment, loaded []*models.Model, wanted string, logger *slog.Logger) ([]*models.Model, error) {
	if wanted == precisionFull || wanted == precisionAuto && env.Provider() != ort.CPU {
		return loaded, nil
	}
	chosen := make([]*models.Model, len(loaded))
	for i, m := range loaded {
		chosen[i] = m
		v := m.In(models.Int8)
		if v == nil {
			continue
		}
		err := verify(env, v, 1)
		if _, wrong := errors.AsType[*ort.GoldenError](err); wrong && wanted == precisionAuto {
			logger.Warn("this processor gets the model's 8 bits wrong, it runs in full precision", "model", m.Card.Name, "error", err.Error())
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("model %s in %s: %w", m.Card.Name, models.Int8, err)
		}
		chosen[i] = v
	}
	return chosen, nil
}
