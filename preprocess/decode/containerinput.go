//go:build gocv_specific_modules

package decode

/*
#cgo pkg-config: libavformat libavcodec libavutil
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/log.h>

// A file is read by its descriptor alone, at positions of our own: no protocol
// of the library has to be open for it.
typedef struct { int fd; int64_t pos, size; } mediaFile;

static int mediaRead(void *opaque, uint8_t *buf, int n) {
	mediaFile *m = opaque;
	ssize_t got;
	do got = pread(m->fd, buf, n, m->pos); while (got < 0 && errno == EINTR);
	if (got < 0) return AVERROR(errno);
	if (got == 0) return AVERROR_EOF;
	m->pos += got;
	return got;
}

static int64_t mediaSeek(void *opaque, int64_t off, int whence) {
	mediaFile *m = opaque;
	switch (whence & ~AVSEEK_FORCE) {
	case AVSEEK_SIZE: return m->size;
	case SEEK_SET: break;
	case SEEK_CUR: off += m->pos; break;
	case SEEK_END: off += m->size; break;
	default: return AVERROR(EINVAL);
	}
	if (off < 0) return AVERROR(EINVAL);
	return m->pos = off;
}

void decoderSaid(void *, int, const char *); // in videodamage.go

static void mediaQuiet(void *a, int level, const char *format, va_list args) { decoderSaid(a, level, format); }

// quietLibraries has what the libraries log told to decoderSaid, and to nobody else.
void quietLibraries(void) { av_log_set_callback(mediaQuiet); }

static void mediaClose(AVFormatContext *c) {
	AVIOContext *io = c->pb;
	avformat_close_input(&c);
	if (io) {
		av_freep(&io->opaque);
		av_freep(&io->buffer);
		avio_context_free(&io);
	}
}

// mediaOpen opens the file with the named demuxer and no other.
static AVFormatContext *mediaOpen(int fd, int64_t size, const char *demuxer, const char *codecs, int *err) {
	const int room = 1 << 16;
	AVFormatContext *c = avformat_alloc_context();
	mediaFile *m = av_mallocz(sizeof(*m));
	uint8_t *buf = av_malloc(room);
	AVIOContext *io = NULL;
	AVDictionary *opts = NULL;
	quietLibraries();
	if (c && m && buf) {
		*m = (mediaFile){fd, 0, size};
		io = avio_alloc_context(buf, room, 0, m, mediaRead, NULL, mediaSeek);
	}
	if (!io) {
		avformat_free_context(c); av_free(m); av_free(buf);
		*err = AVERROR(ENOMEM);
		return NULL;
	}
	c->pb = io;
	c->flags |= AVFMT_FLAG_CUSTOM_IO;
	if ((*err = av_dict_set(&opts, "format_whitelist", demuxer, 0)) < 0 ||
		(*err = av_dict_set(&opts, "codec_whitelist", codecs, 0)) < 0 ||
		(*err = av_dict_set(&opts, "protocol_whitelist", "none", 0)) < 0 ||
		(*err = av_dict_set_int(&opts, "max_streams", 4096, 0)) < 0)
		avformat_free_context(c); // without its bounds, nothing is opened
	else
		*err = avformat_open_input(&c, "", av_find_input_format(demuxer), &opts);
	av_dict_free(&opts);
	if (*err < 0) { // the context is gone, our reader is not
		av_free(io->opaque); av_freep(&io->buffer); avio_context_free(&io);
		return NULL;
	}
	return c;
}

// mediaProbe finds out what the headers leave open. No decoder of it makes a
// picture of more than pixels.
static int mediaProbe(AVFormatContext *c, int64_t pixels) {
	unsigned n = c->nb_streams;
	AVDictionary **o = av_calloc(n + 1, sizeof(*o));
	if (!o) return AVERROR(ENOMEM);
	int r = 0;
	for (unsigned i = 0; i < n && r >= 0; i++)
		if ((r = av_dict_set_int(&o[i], "max_pixels", pixels, 0)) >= 0)
			r = av_dict_set_int(&o[i], "threads", 1, 0);
	if (r >= 0) r = avformat_find_stream_info(c, o);
	for (unsigned i = 0; i < n; i++) av_dict_free(&o[i]);
	av_free(o);
	return r;
}

// mediaTurn is the counterclockwise rotation in degrees that the file asks for,
// and whether left and right change places after it.
static double mediaTurn(AVStream *s, int *mirrored) {
	const uint8_t *m = NULL;
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
	const AVPacketSideData *d = av_packet_side_data_get(s->codecpar->coded_side_data,
		s->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
	if (d && d->size >= 36) m = d->data;
#else
	size_t size = 0;
	m = av_stream_get_side_data(s, AV_PKT_DATA_DISPLAYMATRIX, &size);
	if (size < 36) m = NULL;
#endif
	int32_t t[9];
	if (!m) return 0;
	memcpy(t, m, sizeof(t));
	*mirrored = (double)t[0] * t[4] < (double)t[1] * t[3];
	av_display_matrix_flip(t, *mirrored, 0); // what is left is a rotation
	return av_display_rotation_get(t);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"deepfaked/preprocess"
	"deepfaked/preprocess/internal/heif"
)

// demuxers names the one parser of each format: what a file was recognised as
// is all that it can be.
func demuxer(f preprocess.Format) (string, error) {
	switch f {
	case preprocess.MP4, preprocess.M4A, preprocess.MOV, preprocess.ThreeGP:
		return "mov", nil
	case preprocess.Matroska, preprocess.WebM:
		return "matroska", nil
	case preprocess.AVI:
		return "avi", nil
	case preprocess.MP3:
		return "mp3", nil
	case preprocess.AAC:
		return "aac", nil
	case preprocess.FLAC:
		return "flac", nil
	case preprocess.OGG:
		return "ogg", nil
	case preprocess.AMR, preprocess.AMRWB:
		return "amr", nil
	}
	return "", fmt.Errorf("no demuxer for %q", f)
}

// The decoders that may run, by the library's names. Whatever else a container
// holds is passed over.
const (
	soundCodecs = "aac,mp3float,mp3,mp2float,mp2,flac,alac,vorbis,libvorbis,opus,libopus,amrnb,amrwb," +
		"libopencore_amrnb,libopencore_amrwb,ac3,eac3,pcm_u8,pcm_s8,pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be," +
		"pcm_s32le,pcm_s32be,pcm_f32le,pcm_f32be,pcm_f64le,pcm_f64be,pcm_alaw,pcm_mulaw"
	videoCodecs = "h264,hevc,vp8,vp9,libdav1d,libaom-av1,av1,mpeg4,msmpeg4,msmpeg4v2,mjpeg,theora"
)

// errDamaged is wrapped by the failures of the native libraries: the format was
// recognised, but what follows makes no sense.
var errDamaged = errors.New("damaged or truncated")

// errMemory is a failed allocation of the native libraries.
var errMemory = fmt.Errorf("native libraries: %w", unix.ENOMEM)

// input is an open container. Whoever opened it calls Close.
type input struct{ ctx *C.AVFormatContext }

// openInput reads the headers of a container, and nothing but src.File.
func openInput(src Source) (*input, error) {
	name, err := demuxer(src.Format)
	if err != nil {
		return nil, err
	}
	cname, codecs := C.CString(name), C.CString(soundCodecs+","+videoCodecs)
	defer C.free(unsafe.Pointer(cname))
	defer C.free(unsafe.Pointer(codecs))
	var code C.int
	ctx := C.mediaOpen(C.int(src.File.Fd()), C.int64_t(src.Size), cname, codecs, &code)
	if ctx == nil {
		return nil, avError("open", code)
	}
	return &input{ctx: ctx}, nil
}

// Close frees what the library holds. The file stays open.
func (in *input) Close() {
	C.mediaClose(in.ctx)
	in.ctx = nil
}

// probe completes what the headers say, by decoding a little, and checks it
// against the limits before and after.
func (in *input) probe(l preprocess.Limits) error {
	if err := in.check(l); err != nil {
		return err
	}
	if code := C.mediaProbe(in.ctx, C.int64_t(l.Pixels)); code < 0 {
		return avError("probe", code)
	}
	return in.check(l)
}

// otherStreams is how many times the limit there may be of streams of all kinds: the library
// takes a time that grows with their square.
const otherStreams = 16

// check holds what the file declares against the limits. Subtitles, fonts and the like are
// passed over, and count little. So is cover art, however large it is: the probe decodes none
// of it that has more pixels than are allowed.
func (in *input) check(l preprocess.Limits) error {
	n := 0
	for _, s := range in.streams() {
		if kind := s.codecpar.codec_type; kind == C.AVMEDIA_TYPE_AUDIO || kind == C.AVMEDIA_TYPE_VIDEO {
			n++
		}
	}
	if n > l.Streams {
		return tooLarge(fmt.Sprintf("The file has %d streams of sound and video; at most %d are allowed.", n, l.Streams))
	}
	if all := len(in.streams()); all > otherStreams*l.Streams {
		return tooLarge(fmt.Sprintf("The file has %d streams, with subtitles and the like; at most %d are allowed.", all, otherStreams*l.Streams))
	}
	for _, s := range in.streams() {
		if s.codecpar.codec_type != C.AVMEDIA_TYPE_VIDEO || !shown(s) {
			continue
		}
		if w, h := sizeOf(s); w > 0 && h > 0 && w*h > l.Pixels {
			return tooLarge(fmt.Sprintf("The video has %d by %d pixels; at most %d are allowed.", w, h, l.Pixels))
		}
	}
	return nil
}

func (in *input) streams() []*C.AVStream {
	return unsafe.Slice(in.ctx.streams, in.ctx.nb_streams)
}

// videoNames are the codecs of videoCodecs as the container knows them.
const videoNames = ",h264,hevc,vp8,vp9,av1,mpeg4,msmpeg4v3,msmpeg4v2,mjpeg,theora,"

// codecName names the codec of a stream.
func codecName(s *C.AVStream) string { return C.GoString(C.avcodec_get_name(s.codecpar.codec_id)) }

// decodable says whether the pictures of a stream are in a codec that is decoded.
func decodable(s *C.AVStream) bool { return strings.Contains(videoNames, ","+codecName(s)+",") }

// audible says whether the sound of a stream is in a codec that is decoded.
func audible(s *C.AVStream) bool {
	codec := C.avcodec_find_decoder(s.codecpar.codec_id)
	return codec != nil && strings.Contains(","+soundCodecs+",", ","+C.GoString(codec.name)+",")
}

// choose picks the best stream of sound and of video, nil where there is none,
// and has the demuxer pass over the others.
func (in *input) choose() (snd, vid *C.AVStream) {
	snd, vid = in.best(C.AVMEDIA_TYPE_AUDIO, audible), in.best(C.AVMEDIA_TYPE_VIDEO, decodable)
	for _, s := range in.streams() {
		if s != snd && s != vid {
			s.discard = C.AVDISCARD_ALL
		}
	}
	return snd, vid
}

// best is the library's choice among the streams of a kind, or the first that can
// be decoded if that one can't. Cover art is not video.
func (in *input) best(kind C.enum_AVMediaType, decodable func(*C.AVStream) bool) *C.AVStream {
	var found *C.AVStream
	for _, s := range append([]*C.AVStream{in.likely(kind)}, in.streams()...) {
		if s == nil || s.codecpar.codec_type != kind || !shown(s) {
			continue
		}
		if decodable(s) {
			return s
		}
		if found == nil {
			found = s
		}
	}
	return found
}

// likely is the library's choice, whatever its codec.
func (in *input) likely(kind C.enum_AVMediaType) *C.AVStream {
	i := C.av_find_best_stream(in.ctx, kind, -1, -1, nil, 0)
	if i < 0 {
		return nil
	}
	return in.streams()[i]
}

// errEnd is the orderly end of a container.
var errEnd = errors.New("end")

// next reads the next packet of a chosen stream into p, which must be empty.
// The error is errEnd, or wraps errDamaged or errMemory.
func (in *input) next(p *C.AVPacket) error {
	switch code := C.av_read_frame(in.ctx, p); {
	case code >= 0:
		return nil
	case code == C.AVERROR_EOF:
		return errEnd
	default:
		return avError("read", code)
	}
}

// turnOf is how the pictures of a stream are to be turned to stand upright: by
// quarters, and mirrored, too, where the file says so.
func turnOf(s *C.AVStream) orientation {
	var mirrored C.int
	turn := float64(C.mediaTurn(s, &mirrored))
	if math.IsNaN(turn) || math.IsInf(turn, 0) {
		return asStored
	}
	transforms := heif.Transforms{{Quarters: int(math.Round(turn / 90))}}
	if mirrored != 0 {
		transforms = append(transforms, heif.Transform{Mirror: heif.LeftRight})
	}
	return exifOf(transforms)
}

// noMemory is what the libraries call a failed allocation.
const noMemory = -C.ENOMEM

// avError wraps a failure of the libraries.
func avError(doing string, code C.int) error {
	if code == noMemory {
		return fmt.Errorf("%s: %w", doing, errMemory)
	}
	var text [128]C.char
	C.av_strerror(code, &text[0], C.size_t(len(text)))
	return fmt.Errorf("%w: %s: %s", errDamaged, doing, C.GoString(&text[0]))
}
