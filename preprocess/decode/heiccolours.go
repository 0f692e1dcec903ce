//go:build gocv_specific_modules

package decode

/*
#include <string.h>
#include <libavcodec/avcodec.h>
#include <libavutil/mem.h>

void quietLibraries(void); // in containerinput.go

// streamColour has a decoder of H.265, which decodes no picture, read how the parameter sets
// of a picture say its colours are coded: the matrix, and whether in full range. They say
// nothing where the matrix is 2.
static int streamColour(const void *hvcC, int n, int *full) {
	const AVCodec *codec = avcodec_find_decoder(AV_CODEC_ID_HEVC);
	AVCodecContext *c = codec ? avcodec_alloc_context3(codec) : NULL;
	int matrix = AVCOL_SPC_UNSPECIFIED;
	quietLibraries();
	if (c && (c->extradata = av_mallocz(n + AV_INPUT_BUFFER_PADDING_SIZE))) {
		memcpy(c->extradata, hvcC, c->extradata_size = n);
		c->thread_count = 1;
		if (avcodec_open2(c, codec, NULL) >= 0) {
			matrix = c->colorspace;
			*full = c->color_range == AVCOL_RANGE_JPEG;
		}
	}
	avcodec_free_context(&c);
	return matrix;
}
*/
import "C"

import (
	"unsafe"

	"deepfaked/preprocess/internal/heif"
)

// heicColor is how the colours are coded that the library hands out. It converts what a picture
// is made of to what stands for nothing declared: by what the parts declare, or else by the range
// alone of what their coded pictures do. Where these say nothing, the matrix is that of the whole.
func heicColor(data []byte, declared heif.Color) heif.Color {
	coded := heif.CodedAs(data)
	switch {
	case coded.Part && coded.Declared:
		return heif.Color{}
	case coded.Part:
		color := streamColor(coded.Config)
		if !color.Declared {
			color = declared
		}
		color.FullRange = true
		return color
	case declared.Declared:
		return declared
	}
	return streamColor(coded.Config)
}

// streamColor is the coding that a coded picture itself declares.
func streamColor(hvcC []byte) heif.Color {
	if len(hvcC) == 0 {
		return heif.Color{}
	}
	var full C.int
	matrix := C.streamColour(unsafe.Pointer(unsafe.SliceData(hvcC)), C.int(len(hvcC)), &full)
	if matrix == C.AVCOL_SPC_UNSPECIFIED {
		return heif.Color{}
	}
	return heif.Color{Declared: true, Matrix: int(matrix), FullRange: full != 0}
}
