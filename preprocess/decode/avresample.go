//go:build gocv_specific_modules

package decode

/*
#cgo pkg-config: libswresample libavutil
#include <stdbool.h>
#include <stdlib.h>
#include <libavutil/channel_layout.h>
#include <libavutil/frame.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <libavutil/version.h>
#include <libswresample/swresample.h>

// openMono makes a resampler from any layout to the mean of its channels, or to
// the channel only, counted from 1, where it has that. It calculates in 16 bits
// where coarse is set.
static SwrContext *openMono(const AVChannelLayout *from, enum AVSampleFormat format, bool coarse, int rate, int outRate, int only) {
	AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO, in = {0};
	SwrContext *s = NULL;
	double *matrix = NULL;
	int n = from ? from->nb_channels : 1;
	if (!from)
		av_channel_layout_copy(&in, &mono);
	else if (from->order == AV_CHANNEL_ORDER_UNSPEC)
		av_channel_layout_default(&in, n);
	else if (av_channel_layout_copy(&in, from) < 0)
		return NULL;
	if (swr_alloc_set_opts2(&s, &mono, AV_SAMPLE_FMT_FLT, outRate, &in, format, rate, 0, NULL) < 0)
		goto fail;
	if (coarse && av_opt_set_sample_fmt(s, "internal_sample_fmt", AV_SAMPLE_FMT_S16P, 0) < 0)
		goto fail;
	if (n > 1) {
		if (!(matrix = av_malloc_array(n, sizeof(*matrix))))
			goto fail;
		for (int i = 0; i < n; i++)
			matrix[i] = only < 1 || only > n ? 1.0 / n : i == only - 1;
		if (swr_set_matrix(s, matrix, n) < 0)
			goto fail;
	}
	if (swr_init(s) < 0)
		goto fail;
	av_free(matrix);
	av_channel_layout_uninit(&in);
	return s;
fail:
	av_free(matrix);
	av_channel_layout_uninit(&in);
	swr_free(&s);
	return NULL;
}

// The pointers to pointers go through void because FFmpeg 7 made them more const.
static int resampleMono(SwrContext *s, float *out, int room, const float *in, int n) {
	return swr_convert(s, (void *)&out, room, in ? (void *)&in : NULL, n);
}

static int resampleFrame(SwrContext *s, float *out, int room, AVFrame *f) {
	return swr_convert(s, (void *)&out, room, (void *)f->extended_data, f->nb_samples);
}
*/
import "C"

import (
	"errors"
	"unsafe"
)

// errResample is sound that cannot be brought to soundRate.
var errResample = errors.New("resample")

// resampler turns sound of one rate and layout into mono at soundRate, by the
// band-limited filter of libswresample. Whoever made it calls Close.
type resampler struct {
	swr *C.SwrContext
	out []float32
}

// newMonoResampler takes mono samples at rate Hz; coarse says that they were of
// at most 16 bits.
func newMonoResampler(rate int, coarse bool) (*resampler, error) {
	return openResampler(nil, C.AV_SAMPLE_FMT_FLT, rate, coarse, 0)
}

// newResampler takes samples as a decoder gives them. All channels count alike,
// unless only names one, from 1.
func newResampler(layout *C.AVChannelLayout, format C.enum_AVSampleFormat, rate, only int) (*resampler, error) {
	return openResampler(layout, format, rate, C.av_get_bytes_per_sample(format) <= 2, only)
}

// openResampler calculates in 16 bits where the samples are coarse, as FFmpeg's
// program does: the sounds that the speech model was trained on came through it,
// and telephone sound has nothing but rounding above half of its rate. Without a
// layout the samples are mono.
func openResampler(layout *C.AVChannelLayout, format C.enum_AVSampleFormat, rate int, coarse bool, only int) (*resampler, error) {
	swr := C.openMono(layout, format, C.bool(coarse), C.int(rate), soundRate, C.int(only))
	if swr == nil {
		return nil, errResample
	}
	return &resampler{swr: swr}, nil
}

// Close frees what the library holds.
func (r *resampler) Close() { C.swr_free(&r.swr) }

// Mono resamples mono samples. The result is valid until the next call.
func (r *resampler) Mono(in []float32) ([]float32, error) {
	room := r.room(len(in))
	return r.result(C.resampleMono(r.swr, room, C.int(len(r.out)), (*C.float)(unsafe.SliceData(in)), C.int(len(in))))
}

// Frame resamples a decoded frame. The result is valid until the next call.
func (r *resampler) Frame(f *C.AVFrame) ([]float32, error) {
	room := r.room(int(f.nb_samples))
	return r.result(C.resampleFrame(r.swr, room, C.int(len(r.out)), f))
}

// Flush returns what the filter still holds back at the end.
func (r *resampler) Flush() ([]float32, error) {
	room := r.room(0)
	return r.result(C.resampleMono(r.swr, room, C.int(len(r.out)), nil, 0))
}

// room makes out large enough for what n more samples yield.
func (r *resampler) room(n int) *C.float {
	need := max(int(C.swr_get_out_samples(r.swr, C.int(n))), 1)
	if need > len(r.out) {
		r.out = make([]float32, need)
	}
	return (*C.float)(unsafe.SliceData(r.out))
}

func (r *resampler) result(n C.int) ([]float32, error) {
	switch {
	case n == noMemory:
		return nil, errMemory
	case n < 0:
		return nil, errResample
	}
	return r.out[:n], nil
}
