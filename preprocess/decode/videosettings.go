//go:build gocv_specific_modules

package decode

/*
#include <string.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

// putBefore puts bytes before what a packet holds.
static int putBefore(AVPacket *p, const uint8_t *data, int n) {
	int old = p->size, r = av_packet_make_writable(p);
	if (r < 0 || (r = av_grow_packet(p, n)) < 0)
		return r;
	memmove(p->data + n, p->data, old);
	memcpy(p->data, data, n);
	return 0;
}
*/
import "C"

import "unsafe"

// settingsMost is how many bytes the settings of a codec may have that come amid a film.
const settingsMost = 1 << 16

// settingsAll is how many all that come may have together: each is read, and written before a packet.
const settingsAll = 16 << 20

// settings follows what an MP4 file says of its codec, which may change where films were joined.
type settings struct {
	stream  *C.AVStream
	sets    []byte // what goes before a picture for others to rest on it; nil as long as the stream's own count
	foreign bool   // they can't be put there
	came    int    // the bytes of all that came
}

// own are the settings that the stream begins with.
func (s *settings) own() []byte {
	par := s.stream.codecpar
	return unsafe.Slice((*byte)(par.extradata), int(par.extradata_size))
}

// follow says whether others come with a packet, and remembers them.
func (s *settings) follow(p *C.AVPacket) (others bool) {
	if p.side_data_elems == 0 {
		return false
	}
	var n C.size_t
	data := C.av_packet_get_side_data(p, C.AV_PKT_DATA_NEW_EXTRADATA, &n)
	if data == nil {
		return false
	}
	var ok bool
	s.sets = nil
	if s.came += int(min(n, settingsMost)); n <= settingsMost && s.came <= settingsAll {
		s.sets, ok = s.inBand(C.GoBytes(unsafe.Pointer(data), C.int(n)))
	}
	s.foreign = !ok
	return true
}

// inBand are others as they go before a packet. They are not ok where the packets are written in
// another way than the first.
func (s *settings) inBand(others []byte) (sets []byte, ok bool) {
	switch s.stream.codecpar.codec_id {
	case C.AV_CODEC_ID_H264:
		return inBand(others, unitPrefix(s.own()), unitPrefix(others), h264Sets)
	case C.AV_CODEC_ID_HEVC:
		return inBand(others, h265Prefix(s.own()), h265Prefix(others), h265Sets)
	case C.AV_CODEC_ID_MPEG4:
		return others, true
	}
	return nil, true // the pictures say themselves what they need
}

// put puts the settings that count now before a packet.
func (s *settings) put(p *C.AVPacket) error {
	if len(s.sets) > 0 && C.putBefore(p, (*C.uint8_t)(unsafe.SliceData(s.sets)), C.int(len(s.sets))) < 0 {
		return errMemory
	}
	return nil
}
