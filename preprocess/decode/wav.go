//go:build gocv_specific_modules

package decode

import (
	"time"

	"deepfaked/preprocess"
)

// decodeWAV writes the windows of a WAV file into out. The chunks have been
// checked before anything is allocated; the samples are read in blocks, so that
// memory is bounded by Limits.Duration whatever the rate and channel count.
func decodeWAV(src Source, out *Arena) (Found, error) {
	info, err := parseWAV(src.File, src.Size)
	if err != nil {
		return Found{}, err
	}
	length := time.Duration(float64(info.Frames) / float64(info.Rate) * float64(time.Second))
	if length > src.Limits.Duration {
		return Found{}, tooLong(length, src.Limits.Duration)
	}
	s := sound{limit: src.Limits.Duration, early: expect(length, out, src.Limits)}
	err = s.readWAV(src, info)
	if err == nil && s.mix.Lost() {
		s = sound{limit: src.Limits.Duration, mix: s.mix.Loudest()}
		err = s.readWAV(src, info)
	}
	if err != nil {
		return Found{}, err
	}
	if s.n < soundShortest {
		return Found{}, tooShort("WAV")
	}
	found := Found{Kind: preprocess.Audio, Format: "WAV", Duration: length}
	if info.Missing > 0 {
		found.Notes = []preprocess.Note{preprocess.Incomplete}
	}
	return found, s.Windows(out, src.Limits)
}

// readWAV reads the whole file, unless its samples can be judged as they are. Of those nothing
// is told early: they are there at once, and to tell of each window costs more than it gains.
func (s *sound) readWAV(src Source, info wavSound) error {
	if !info.judged() {
		return s.resampleWAV(src, info)
	}
	data, err := pcmData(src.File, info)
	if err != nil {
		return err
	}
	s.stored, s.n = &stored{data: data}, int(info.Frames)
	return nil
}

// resampleWAV resamples the whole file block by block.
func (s *sound) resampleWAV(src Source, info wavSound) error {
	next, err := openWAV(src.File, info, &s.mix)
	if err != nil {
		return err
	}
	resample, flush := asIs, silence
	if info.Rate != soundRate {
		r, err := newMonoResampler(info.Rate, info.Bytes <= 2)
		if err != nil {
			return err
		}
		defer r.Close()
		resample, flush = r.Mono, r.Flush
	}
	mono := make([]float32, wavBlock)
	for {
		n, err := next(mono)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if err := s.take(resample(mono[:n])); err != nil {
			return err
		}
	}
	return s.take(flush())
}

// take appends what a resampler returned.
func (s *sound) take(samples []float32, err error) error {
	if err != nil {
		return err
	}
	return s.Write(samples)
}

// asIs and silence stand for a resampler where the rate is right already.
func asIs(samples []float32) ([]float32, error) { return samples, nil }

func silence() ([]float32, error) { return nil, nil }
