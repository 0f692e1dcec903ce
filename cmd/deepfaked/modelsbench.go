package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"deepfaked/inference/ort"
	"deepfaked/models"
)

type modelsBench struct {
	configFlags
	dataFlag
	engineFlags
	Batch *int          `placeholder:"N" env:"DEEPFAKED_BATCH" help:"Largest batch (default: the service's, ${batch})."`
	For   time.Duration `default:"500ms" placeholder:"TIME" env:"DEEPFAKED_FOR" help:"How long each batch size runs (default: ${default})."`
	JSON  bool          `env:"DEEPFAKED_JSON" help:"A line of JSON for each batch size."`
}

// speed is how one model runs with one batch size, on one session.
type speed struct {
	Model    string  `json:"model"`
	Provider string  `json:"provider"`
	Batch    int     `json:"batch"`      // rows
	MedianMS float64 `json:"median_ms"`  // of a run
	P99MS    float64 `json:"p99_ms"`     // of a run
	Rows     float64 `json:"rows_per_s"` // at the median
}

// run proves each model before it measures it: a model that is wrong is not fast.
func (c *modelsBench) run(ctx context.Context, to streams) error {
	if c.Batch != nil && (*c.Batch < 1 || *c.Batch > 1024) || c.For <= 0 {
		return usageError{errors.New("--batch must be between 1 and 1024, and --for more than nothing")}
	}
	cfg, err := settings(c.configFlags, c.dataFlag, c.engineFlags)
	if err != nil {
		return err
	}
	loaded, _, err := loadModels(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	env, err := openRuntime(cfg, len(loaded), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { _ = env.Close() }()
	chosen, err := inPrecision(env, loaded, cfg.Inference.Precision, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if !c.JSON {
		if _, err := fmt.Fprintf(to.out, "%26s%10s%7s%11s%9s%10s\n", "MODEL", "PROVIDER", "BATCH", "MEDIAN ms", "P99 ms", "ROWS/s"); err != nil {
			return err
		}
	}
	for i := range chosen {
		var speeds []speed
		speeds, err = c.measure(ctx, env, &chosen[i])
		// At once: on a GPU a model may take half a minute to make ready.
		if err = errors.Join(err, c.tell(speeds, to.out)); err != nil {
			return err
		}
	}
	return nil
}

// tell writes lines of JSON, or rows of the table, whose columns are as wide as those of the
// built-in models need.
func (c *modelsBench) tell(speeds []speed, out io.Writer) error {
	for _, s := range speeds {
		var err error
		if c.JSON {
			err = json.NewEncoder(out).Encode(s)
		} else {
			_, err = fmt.Fprintf(out, "%26s%10s%7d%11.2f%9.2f%10.1f\n", s.Model, s.Provider, s.Batch, s.MedianMS, s.P99MS, s.Rows)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// measure runs the batch sizes of a model one after the other. With an error it
// returns those that were measured before.
func (c *modelsBench) measure(ctx context.Context, env *ort.Environment, m *choice) ([]speed, error) {
	most := largestBatch(env.Provider())
	set(&most, c.Batch)
	s, err := proven(env, m, most)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	var out []speed
	for _, size := range s.Sizes() {
		took, err := repeat(ctx, s, size, c.For)
		if err != nil {
			return out, err
		}
		slices.Sort(took)
		median, late := took[len(took)/2], took[len(took)*99/100]
		out = append(out, speed{
			Model: m.Card.Name, Provider: string(env.Provider()), Batch: size,
			MedianMS: ms(median), P99MS: ms(late), Rows: float64(size) / median.Seconds(),
		})
	}
	return out, nil
}

// proven is a session of what the service would run.
func proven(env *ort.Environment, c *choice, most int) (s *ort.Session, err error) {
	err = c.try(slog.New(slog.DiscardHandler), func(m *models.Model) error {
		made, err := env.NewSession(m, most)
		if err != nil {
			return err
		}
		if err := ort.Golden(made, m.Card); err != nil {
			return errors.Join(err, made.Close())
		}
		s = made
		return nil
	})
	return s, err
}

// repeat runs a batch size over and over, thrice at least.
func repeat(ctx context.Context, s *ort.Session, size int, most time.Duration) ([]time.Duration, error) {
	var took []time.Duration
	for began := time.Now(); len(took) < 3 || time.Since(began) < most; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		start := time.Now()
		if _, err := s.Run(size); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
