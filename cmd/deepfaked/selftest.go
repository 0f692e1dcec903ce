package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"os"

	"deepfaked/inference"
	"deepfaked/inference/ort"
	"deepfaked/internal/sandbox"
	"deepfaked/models"
)

// trial decodes a file that is known to be sound, and parts with a decoder that refuses it.
type trial interface {
	Try(ctx context.Context, f *os.File, size int64) error
}

// test decodes a picture and runs the self-test of each model's card, among what is being
// judged. While the engine is out nothing else is begun.
func (e *engine) test(ctx context.Context, out bool) error {
	if err := e.testDecoder(ctx, out); err != nil {
		return fmt.Errorf("self-test: %w", err)
	}
	rows := 1
	if e.provider != string(ort.CPU) {
		rows = gpuBatch * e.scheduler.Executors() // so that each GPU has some
	}
	for _, c := range e.cards {
		if err := e.testModel(ctx, c, rows); err != nil {
			return fmt.Errorf("self-test: %w", err)
		}
	}
	return nil
}

// testDecoder has a picture decoded. That all decoders are at work says nothing: those that
// hang are ended, and that none can be started is heard at once between two attempts. Of an engine
// that is out they have nothing else to do.
func (e *engine) testDecoder(ctx context.Context, out bool) (err error) {
	ctx, cancel := context.WithTimeout(ctx, testFor/2)
	defer cancel()
	file, err := sandbox.NewMemory("self-test")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := png.Encode(file, image.NewGray(image.Rect(0, 0, 64, 64))); err != nil {
		return err
	}
	at, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	err = e.decoders.Try(ctx, file, at)
	if errors.Is(err, context.DeadlineExceeded) && !out {
		return nil
	}
	return err
}

// testModel runs the self-test of a card. That there is too much to do says nothing.
func (e *engine) testModel(ctx context.Context, c models.Card, rows int) error {
	outputs, err := e.scheduler.Run(ctx, inference.Work{
		Model: c.Name, Rows: rows, Fill: func(_ int, row models.Row) { c.Golden.Fill(row) }, Priority: inference.Interactive,
	})
	if saturated := (*inference.SaturatedError)(nil); errors.As(err, &saturated) {
		return nil
	}
	if err != nil {
		return err
	}
	each := len(outputs) / rows
	for i := range rows {
		got := float64(outputs[i*each])
		if !(math.Abs(got-c.Golden.Output) <= c.Golden.Tolerance) { // NaN fails
			return fmt.Errorf("model %s: %g in place of %g", c.Name, got, c.Golden.Output)
		}
	}
	return nil
}
