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
	precisionAuto = "auto"              // what is quickest on the provider, where it gets that right, else full
	precisionFull = string(models.Full) // as the card's own file has it
)

// quickest is the precision in which a provider runs a model in the least time. A
// GPU gains nothing by products of bytes without engines that were made for them.
func quickest(p ort.Provider) models.Precision {
	if p == ort.CPU {
		return models.Int8
	}
	return models.FP16
}

// inPrecision returns the models as they are to be run. Processors without
// instructions for it let sums of bytes overflow without a word: a variant has to pass
// its self-test here, or auto keeps to the full precision.
func inPrecision(env *ort.Environment, loaded []*models.Model, wanted string, logger *slog.Logger) ([]*models.Model, error) {
	if wanted == precisionFull {
		return loaded, nil
	}
	precision := models.Precision(wanted)
	if wanted == precisionAuto {
		precision = quickest(env.Provider())
	}
	chosen := make([]*models.Model, len(loaded))
	for i, m := range loaded {
		chosen[i] = m
		v := m.In(precision)
		if v == nil {
			if wanted != precisionAuto {
				logger.Warn("a model has no variant in the precision that was asked for, it runs in full precision", "model", m.Card.Name, "precision", precision)
			}
			continue
		}
		err := checkVariant(env, v, 1)
		inexact, off := errors.AsType[*inexactError](err)
		switch {
		case off && wanted == precisionAuto:
			logger.Warn("this processor gets a model's variant wrong, it runs in full precision", "model", m.Card.Name, "precision", precision, "error", err.Error())
		case off:
			return nil, inexact.refused()
		case err != nil:
			return nil, err
		default:
			chosen[i] = v
		}
	}
	return chosen, nil
}

// verifyAll runs the self-tests of the model in all its precisions. A variant that is
// not exact on this processor is an error only where wanted is its precision, or the
// model itself fails: else the model runs in its place, and note says so.
func verifyAll(env *ort.Environment, m *models.Model, wanted string) (note string, err error) {
	most := largestBatch(env.Provider())
	full := verify(env, m, most)
	err = full
	for _, v := range m.Card.Variants {
		inner := checkVariant(env, m.In(v.Precision), most)
		inexact, off := errors.AsType[*inexactError](inner)
		switch {
		case off && wanted == string(v.Precision):
			err = errors.Join(err, inexact.refused())
		case off && full == nil:
			note = inexact.clause() + ", so it runs in full precision here"
		default:
			err = errors.Join(err, inner)
		}
	}
	return note, err
}

// checkVariant verifies v, a variant, in batches of one and of most.
func checkVariant(env *ort.Environment, v *models.Model, most int) error {
	return variantError(v.Precision, verify(env, v, most))
}

// variantError tells what failed in verifying the variant in precision p: it returns
// an *inexactError where a row by itself gives another number than it should, and err
// with p otherwise. A number that is off in larger batches only is no inexactError:
// the service chooses by a single row, and would run the variant.
func variantError(p models.Precision, err error) error {
	if golden, ok := errors.AsType[*ort.GoldenError](err); ok && golden.Batch == 1 {
		return &inexactError{precision: p, golden: golden}
	}
	if err != nil {
		return fmt.Errorf("in %s: %w", p, err)
	}
	return nil
}

// inexactError says that a variant is what its card describes, by its checksum and
// its shapes, and yet gives another number here than the card's self-test wants. That
// is what sums of bytes do on a processor that lets them overflow; whether the card has
// it wrong instead can't be told from here, and either way the variant is not run.
type inexactError struct {
	precision models.Precision
	golden    *ort.GoldenError
}

// Error names the model, its variant and both numbers.
func (e *inexactError) Error() string {
	return "model " + e.golden.Model + ": " + e.clause()
}

// clause is Error without the model's name.
func (e *inexactError) clause() string {
	g := e.golden
	return fmt.Sprintf("its %s variant is not exact on this processor (the self-test gives %g in place of %g ± %g)", e.precision, float32(g.Got), g.Want, g.Tolerance)
}

// refused is the error where the variant was asked for by name.
func (e *inexactError) refused() error {
	return fmt.Errorf("%w, and precision %s was asked for: ask for %s or %s", e, e.precision, precisionAuto, precisionFull)
}
