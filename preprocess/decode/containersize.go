//go:build gocv_specific_modules

package decode

/*
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

// parsedSize has the codec's parser read the size of the pictures out of the
// codec's own header. A parser decodes no picture.
static void parsedSize(AVStream *s, int *w, int *h) {
	AVCodecParameters *par = s->codecpar;
	AVCodecParserContext *p = av_parser_init(par->codec_id);
	AVCodecContext *c = avcodec_alloc_context3(NULL);
	uint8_t *out;
	int n;
	if (p && c && par->extradata_size > 0 && avcodec_parameters_to_context(c, par) >= 0) {
		p->flags |= PARSER_FLAG_COMPLETE_FRAMES;
		av_parser_parse2(p, c, &out, &n, par->extradata, par->extradata_size, AV_NOPTS_VALUE, AV_NOPTS_VALUE, -1);
		*w = c->width;
		*h = c->height;
	}
	avcodec_free_context(&c);
	av_parser_close(p);
}
*/
import "C"

// sizeOf is how large the pictures of a stream are said to be; 0 by 0 where
// nothing says it. Of MPEG-4 in MP4 the demuxer leaves it to the decoder, which
// fails without a word when there are too many pixels.
func sizeOf(s *C.AVStream) (w, h int64) {
	width, height := s.codecpar.width, s.codecpar.height
	if width <= 0 || height <= 0 {
		C.parsedSize(s, &width, &height)
	}
	return int64(width), int64(height)
}
