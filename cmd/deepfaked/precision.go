package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"deepfaked/inference/ort"
	"deepfaked/models"
)

// What models may be told to calculate in.
const (
	precisionAuto = "auto"              // what is quickest on the provider, where it gets that right, else full
	precisionFull = string(models.Full) // as the card's own file has it
)

// quickest are the precisions in which a provider runs a model in the least time, the
// best first. A GPU gains nothing by products of bytes without engines that were made
// for them, and a CPU has no TF32.
func quickest(p ort.Provider) []models.Precision {
	if p == ort.CPU {
		return []models.Precision{models.Int8}
	}
	return []models.Precision{models.FP16, models.TF32}
}

// inPrecision chooses how the models are to be run. What comes out of 8 bits hangs on the
// processor: a variant has to pass its self-test here, or auto keeps to the full precision.
func inPrecision(env *ort.Environment, loaded []*models.Model, wanted string, logger *slog.Logger) ([]choice, error) {
	chosen := make([]choice, len(loaded))
	for i, m := range loaded {
		var err error
		if chosen[i], err = oneInPrecision(env, m, wanted, logger); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

func oneInPrecision(env *ort.Environment, m *models.Model, wanted string, logger *slog.Logger) (choice, error) {
	switch wanted {
	case precisionFull:
		if env.Provider() == ort.TensorRT {
			return choice{}, fmt.Errorf("TensorRT calculates in TF32, and precision %s was asked for: ask for %s or %s", wanted, precisionAuto, models.TF32)
		}
		return choice{Model: m}, nil
	case precisionAuto:
		return quickestRight(env, m, logger)
	}
	p := models.Precision(wanted)
	v := m.In(p)
	if v == nil || p == models.TF32 && env.Provider() == ort.CPU {
		logger.Warn("a model has no variant in the precision that was asked for, it runs in full precision", "model", m.Card.Name, "precision", p)
		return choice{Model: m}, nil
	}
	err := checkVariant(env, v, trialBatch(env.Provider()))
	if inexact, off := errors.AsType[*inexactError](err); off {
		return choice{}, inexact.refused()
	}
	return choice{Model: v}, err
}

// trialBatch is the largest batch by which a precision is tried: one row, as what is to
// be run is proven once more when its sessions are made, which takes long enough. TensorRT
// would build an engine for that one row and then another for more, at every start: it
// keeps one of a graph.
func trialBatch(on ort.Provider) int {
	if on == ort.TensorRT {
		return largestBatch(on)
	}
	return 1
}

// quickestRight is the first of the provider's quickest precisions that a model has and
// this processor gets right, else the model itself.
func quickestRight(env *ort.Environment, m *models.Model, logger *slog.Logger) (choice, error) {
	var all []*models.Model
	for _, p := range quickest(env.Provider()) {
		if v := m.In(p); v != nil {
			all = append(all, v)
		}
	}
	all = append(all, m)
	c := choice{all[0], all[1:]}
	err := c.try(logger, func(v *models.Model) error {
		if v == m {
			return nil
		}
		return checkVariant(env, v, trialBatch(env.Provider()))
	})
	return c, err
}

// verifyAll runs the self-tests of the model in all precisions that may run here. A variant
// that is not exact on this processor, or that only a GPU can run, is an error only where wanted is
// its precision, or the model itself fails: else it is not run, and note says so.
func verifyAll(env *ort.Environment, m *models.Model, wanted string) (note string, err error) {
	most := largestBatch(env.Provider())
	var notes []string
	full := verify(env, mostExact(env.Provider(), m), most)
	err = full
	for _, p := range runnable(env.Provider(), m, wanted) {
		inner := checkVariant(env, m.In(p), most)
		inexact, off := errors.AsType[*inexactError](inner)
		switch {
		case off && wanted == string(p):
			err = errors.Join(err, inexact.refused())
		case off && full == nil:
			notes = append(notes, inexact.clause()+", so it is not run here")
		case inner != nil && full == nil && wanted != string(p) && forGPUs(env.Provider(), p, inner):
			notes = append(notes, fmt.Sprintf("its %s variant can't be run here (%s)", p, oneLine(errors.Unwrap(inner))))
		default:
			err = errors.Join(err, inner)
		}
	}
	return strings.Join(notes, "; "), err
}

// forGPUs says whether a variant that failed so may be one that only GPUs can run, as where ONNX
// Runtime has no kernel of half precision for a CPU: that says nothing of the folder, and the
// service would never run it here. Another graph than the card describes, and one that gives another
// number, are wrong everywhere.
func forGPUs(on ort.Provider, p models.Precision, err error) bool {
	_, off := errors.AsType[*ort.GoldenError](err)
	return on == ort.CPU && p == models.FP16 && !off && passable(err)
}

// mostExact is a model as exactly as a provider runs it. TensorRT has no switch for TF32.
func mostExact(on ort.Provider, m *models.Model) *models.Model {
	if on == ort.TensorRT {
		return m.In(models.TF32)
	}
	return m
}

// runnable are a model's precisions beside its own that may run on a provider. On a GPU 8 bits
// do only where they are wanted: without engines made for them, other sums come out there.
func runnable(on ort.Provider, m *models.Model, wanted string) []models.Precision {
	var found []models.Precision
	for _, v := range m.Card.Variants {
		if v.Precision != models.Int8 || on == ort.CPU || wanted == string(models.Int8) {
			found = append(found, v.Precision)
		}
	}
	if on == ort.CUDA {
		found = append(found, models.TF32)
	}
	return found
}

// checkVariant verifies v, a variant, in batches of one and of most.
func checkVariant(env *ort.Environment, v *models.Model, most int) error {
	return variantError(v.Precision, verify(env, v, most))
}

// variantError tells what failed in verifying the variant in precision p: it returns
// an *inexactError where a row by itself gives another number than it should, and err
// with p otherwise. A number that is off in larger batches only is no inexactError: a
// graph that answers by what else is in a batch does so on every processor.
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
	return fmt.Sprintf("its %s variant is not exact on this processor (%s)", e.precision, e.golden.Clause())
}

// refused is the error where the variant was asked for by name.
func (e *inexactError) refused() error {
	return fmt.Errorf("%w, and precision %s was asked for: ask for %s or %s", e, e.precision, precisionAuto, precisionFull)
}
