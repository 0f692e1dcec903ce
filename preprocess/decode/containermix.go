//go:build gocv_specific_modules

package decode

/*
#include <math.h>
#include <libavutil/frame.h>
#include <libavutil/samplefmt.h>

typedef struct { double mean, apart; } mixPower;

static double mixSample(const AVFrame *f, enum AVSampleFormat format, int plane, int i) {
	const uint8_t *p = f->extended_data[plane];
	double x;
	switch (format) {
	case AV_SAMPLE_FMT_U8: return (p[i] - 128) / 128.0;
	case AV_SAMPLE_FMT_S16: return ((const int16_t *)p)[i] / 32768.0;
	case AV_SAMPLE_FMT_S32: return ((const int32_t *)p)[i] / 2147483648.0;
	case AV_SAMPLE_FMT_FLT: x = ((const float *)p)[i]; break;
	case AV_SAMPLE_FMT_DBL: x = ((const double *)p)[i]; break;
	default: return 0;
	}
	return isfinite(x) ? fmax(-1, fmin(x, 1)) : 0;
}

// mixMeasure adds up the power of each of n channels, of their mean, and what
// that would be of channels that have nothing in common.
static mixPower mixMeasure(const AVFrame *f, double *power, int n) {
	enum AVSampleFormat format = av_get_packed_sample_fmt(f->format);
	int planar = av_sample_fmt_is_planar(f->format);
	mixPower m = {0, 0};
	for (int i = 0; i < f->nb_samples; i++) {
		double sum = 0;
		for (int c = 0; c < n; c++) {
			double x = planar ? mixSample(f, format, c, i) : mixSample(f, format, 0, i * n + c);
			sum += x;
			power[c] += x * x;
			m.apart += x * x;
		}
		m.mean += sum * sum;
	}
	m.mean /= (double)n * n;
	m.apart /= (double)n * n;
	return m;
}
*/
import "C"

import "unsafe"

// measure tells m what its mean is of a decoded frame, of at most wavMaxChannels
// channels. The mixing itself is done by the resampler.
func measure(m *mixer, f *C.AVFrame) {
	n := f.ch_layout.nb_channels
	if m.only > 0 || n < 2 {
		return
	}
	p := C.mixMeasure(f, (*C.double)(unsafe.SliceData(m.power[:])), n)
	m.mean += float64(p.mean)
	m.apart += float64(p.apart)
}

// takeLoudest decodes the sound of a stream once more, its loudest channel alone: the
// channels have cancelled each other out.
func (s *sound) takeLoudest(src Source, stream int) error {
	again := sound{limit: s.limit, mix: s.mix.Loudest(), heard: s.heard}
	*s = sound{} // half an hour of it is enough at a time
	loudest, err := decodeTrack(src, stream, again)
	if err != nil {
		return err
	}
	*s = loudest
	return nil
}
