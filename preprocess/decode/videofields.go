//go:build gocv_specific_modules

package decode

/*
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

typedef struct {
	AVCodecParserContext *parser; // NULL where there is nothing to read
	AVCodecContext *codec;
	int half; // 1 or 2: which lines the packet before holds that began a picture with one half of them; 0 otherwise
} fieldReader;

static void fieldsClose(fieldReader *r) {
	av_parser_close(r->parser);
	avcodec_free_context(&r->codec);
	r->parser = NULL;
}

static void fieldsOpen(fieldReader *r, AVStream *s) {
	if (r->parser || s->codecpar->codec_id != AV_CODEC_ID_H264)
		return;
	r->parser = av_parser_init(AV_CODEC_ID_H264);
	r->codec = avcodec_alloc_context3(NULL);
	if (r->parser && r->codec && avcodec_parameters_to_context(r->codec, s->codecpar) >= 0)
		r->parser->flags |= PARSER_FLAG_COMPLETE_FRAMES;
	else
		fieldsClose(r);
}

// fieldsSecond says whether a packet holds the other half of what the one before began, as one
// that opens a picture does not.
static int fieldsSecond(fieldReader *r, const AVPacket *p, int opens) {
	uint8_t *out;
	int n, field, second;
	if (!r->parser)
		return 0;
	av_parser_parse2(r->parser, r->codec, &out, &n, p->data, p->size, AV_NOPTS_VALUE, AV_NOPTS_VALUE, -1);
	field = r->parser->picture_structure;
	second = !opens && field * r->half == AV_PICTURE_STRUCTURE_TOP_FIELD * AV_PICTURE_STRUCTURE_BOTTOM_FIELD;
	r->half = second || field == AV_PICTURE_STRUCTURE_FRAME ? 0 : field;
	return second;
}
*/
import "C"

// fields follows films of H.264 whose pictures are coded in two halves, every other line, which
// may be in a packet each. Whoever opened it closes it.
type fields struct{ reader C.fieldReader }

// open begins, unless it has.
func (f *fields) open(s *C.AVStream) { C.fieldsOpen(&f.reader, s) }

func (f *fields) close() { C.fieldsClose(&f.reader) }

// second says whether a packet, behind those before it, holds the rest of a picture alone. One that
// opens a picture does not: that keeps the halves together where one is missing.
func (f *fields) second(p *C.AVPacket, opens bool) bool {
	if f.reader.parser == nil {
		return false
	}
	var begins C.int
	if opens {
		begins = 1
	}
	return C.fieldsSecond(&f.reader, p, begins) != 0
}
