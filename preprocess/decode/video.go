//go:build gocv_specific_modules

package decode

/*
#include <libavcodec/codec_desc.h>
#include <libavformat/avformat.h>
*/
import "C"

import (
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"time"
	"unsafe"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
)

// Bounds of the work on one video.
const (
	maxPackets   = 1 << 20       // of one stream: an hour at 240 frames a second
	decodePixels = 2_500_000_000 // decoded for the pictures of one file: six seconds of H.264
)

// captureOptions lets OpenCV's FFmpeg read the clips that we made, as files, and
// nothing else. OpenCV takes it from the environment only.
const captureOptions = "format_whitelist;matroska|protocol_whitelist;file"

var allowClips = sync.OnceValue(func() error {
	return os.Setenv("OPENCV_FFMPEG_CAPTURE_OPTIONS", captureOptions)
})

// video is what is known about the pictures of a file.
type video struct {
	stream        *C.AVStream
	packets       []packet
	limit         time.Duration
	pixels        int  // decoded at most, in all pictures together
	stretchPixels int  // the same of stretches
	keyed         bool // there has been a picture that rests on no other
	headless      bool // there were some before that, or some that nothing is known of
	leading       bool // there may still be some behind that which are shown before it
	refresh       refresh
	fields        fields
	settings      settings
	opening       time.Duration // when that is shown
	shown         int           // how many packets are
	first         time.Duration // the earliest time of those
	last          time.Duration // the latest
	late          time.Duration // the first is shown so long after the file begins
	width         int           // upright, set with the first picture
	height        int
	taken         int
	patched       bool // the decoder made up a part of what was taken, or of what that may rest on
}

// newVideo is a film without pictures yet.
func newVideo(stream *C.AVStream, l preprocess.Limits) *video {
	return &video{
		stream: stream, limit: l.Duration, pixels: decodePixels, stretchPixels: stretchPixels,
		keyed: restsOnNone(stream.codecpar.codec_id), settings: settings{stream: stream},
	}
}

// restsOnNone says of a codec whose pictures never rest on others.
func restsOnNone(codec C.enum_AVCodecID) bool {
	about := C.avcodec_descriptor_get(codec)
	return about != nil && about.props&C.AV_CODEC_PROP_INTRA_ONLY != 0
}

// note remembers a packet. The error is a limit that was passed.
func (v *video) note(p *C.AVPacket) error {
	if len(v.packets) == maxPackets {
		return tooLarge(fmt.Sprintf("The video has more than %d frames.", maxPackets))
	}
	at := v.last
	switch {
	case p.pts != C.AV_NOPTS_VALUE:
		at = v.time(p.pts)
	case p.dts != C.AV_NOPTS_VALUE:
		at = v.time(p.dts)
	}
	if v.settings.follow(p) {
		if err := v.settings.put(p); err != nil {
			return err
		}
	}
	pic := v.picture(p)
	if pic.halves || len(v.packets) == 0 && v.inHalves() {
		v.fields.open(v.stream) // which takes a time for each packet
	}
	next := packet{at: at, empty: v.unshown(p), second: v.fields.second(p, pic.opens)}
	next.key = p.flags&C.AV_PKT_FLAG_KEY != 0 && !next.second && v.starts(p)
	over := v.refresh.follow(v.packets, &next, pic)
	v.leading = v.leading && !next.key
	if !v.keyed && (over || next.alone()) {
		v.keyed, v.opening = true, at
		v.leading = v.stream.codecpar.codec_id == C.AV_CODEC_ID_H264 && next.key && !pic.alone
	}
	v.headless = v.headless || !v.keyed || v.settings.foreign
	next.hidden = p.flags&(C.AV_PKT_FLAG_DISCARD|C.AV_PKT_FLAG_CORRUPT) != 0 || v.settings.foreign || v.restsOnMissing(next)
	// Of H.264 FFmpeg gives none that are shown before a first picture that was cut from others; MKV may have no
	// times for them, so that they seem to be shown with it.
	if !next.hidden && v.leading && !next.key && at <= v.opening {
		next.hidden, next.ahead = true, true
	}
	v.packets = append(v.packets, next)
	if !next.shown() {
		return nil
	}
	if v.shown++; v.shown == 1 {
		v.first, v.last = at, at
	}
	v.first, v.last = min(v.first, at), max(v.last, at)
	if v.last-v.first > v.limit {
		return tooLong(v.last-v.first, v.limit)
	}
	return nil
}

// restsOnMissing says whether a packet's picture rests on some that are not there: what comes before the first whole one, or
// behind it and is shown before it. Some decoders put these on grey ones.
func (v *video) restsOnMissing(p packet) bool {
	return !v.keyed || v.headless && p.at < v.opening
}

// picture is what a packet of H.264 says of its picture.
func (v *video) picture(p *C.AVPacket) h264Picture {
	if v.stream.codecpar.codec_id != C.AV_CODEC_ID_H264 {
		return h264Picture{}
	}
	return readH264(content(p), unitPrefix(v.settings.own()))
}

// inHalves says whether the stream's settings allow pictures of H.264 to be coded in two halves.
func (v *video) inHalves() bool {
	own := v.settings.own()
	prefix := unitPrefix(own)
	units, _ := inBand(own, prefix, prefix, h264Sets)
	return v.stream.codecpar.codec_id == C.AV_CODEC_ID_H264 && readH264(units, prefix).halves
}

// content is what a packet holds, until that is let go.
func content(p *C.AVPacket) []byte { return unsafe.Slice((*byte)(p.data), int(p.size)) }

// starts says whether a packet that passes for a key frame is one by what it holds. The decoders
// of these codecs put the picture on grey otherwise, and call that no error. H.264 is looked at as
// its refreshes are followed.
func (v *video) starts(p *C.AVPacket) bool {
	switch v.stream.codecpar.codec_id {
	case C.AV_CODEC_ID_HEVC:
		return h265Starts(content(p), h265Prefix(v.settings.own()))
	case C.AV_CODEC_ID_MPEG4:
		return !uncoded(p) && mpeg4Starts(content(p))
	case C.AV_CODEC_ID_MSMPEG4V2, C.AV_CODEC_ID_MSMPEG4V3:
		return divxStarts(content(p))
	}
	return true
}

// unshown says whether a packet holds a picture for others to rest on alone, as every
// tenth or so of VP8 does: RFC 6386, section 9.1. In other codecs such pictures share a
// packet with one that is shown.
func (v *video) unshown(p *C.AVPacket) bool {
	return v.stream.codecpar.codec_id == C.AV_CODEC_ID_VP8 && p.size > 0 && *p.data&0x10 == 0
}

// maxUncoded is the largest packet of MPEG-4, in bytes, that says of a picture only that
// it is not coded.
const maxUncoded = 19

// uncoded says whether a packet of MPEG-4 holds no picture but stands for one that another packet
// holds beside its own, as DivX and XviD write them in AVI. Some of them pass for key frames.
func uncoded(p *C.AVPacket) bool { return p.size <= maxUncoded }

// time converts a timestamp of the stream.
func (v *video) time(t C.int64_t) time.Duration {
	if at, ok := timeOf(t, v.stream.time_base); ok {
		return at
	}
	return v.last
}

// timeOf converts a timestamp that counts a base; it is not ok if it makes no sense.
func timeOf(t C.int64_t, base C.AVRational) (at time.Duration, ok bool) {
	seconds := float64(t) * float64(base.num) / float64(base.den)
	if t == C.AV_NOPTS_VALUE || math.IsNaN(seconds) || math.Abs(seconds) > 1e9 {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// shownAt is when a picture is shown, from the beginning of the file.
func (v *video) shownAt(ordinal int) time.Duration { return v.packets[ordinal].at - v.first + v.late }

// Duration is measured by the packets.
func (v *video) Duration() time.Duration {
	shown := showOrder(v.packets)
	if len(shown) == 0 {
		return 0
	}
	return videoLength(v.packets, shown)
}

// Frames takes the pictures. It fails only where the output is full or a limit is
// passed; damage costs the pictures that it hits.
func (v *video) Frames(src Source, out *Arena) error {
	if err := v.spread(); err != nil {
		return err
	}
	area := max(int(v.stream.codecpar.width)*int(v.stream.codecpar.height), 1)
	targets := planFrames(v.packets, src.Limits.Frames, max(v.pixels/area, src.Limits.Frames))
	reels, list := v.reels(pieces(v.packets, targets), src.Limits, area)
	if len(list) == 0 {
		return nil
	}
	clip, lost, err := makeClip(src, v.stream, list)
	if err != nil {
		return err
	}
	v.patched = slices.ContainsFunc(lost, func(p int) bool { return wanted(list, targets, reels, p) })
	defer func() { _ = clip.Close() }()
	if err := v.readClip(clip, list, targets, reels, src.Limits, out); err != nil {
		return err
	}
	for _, r := range reels {
		if r.full() {
			out.Keep(r.ref)
		}
	}
	return nil
}

// spread gives the packets times by their order where the file gives none. The
// error is the limit, which they may pass by that.
func (v *video) spread() error {
	if v.last > v.first {
		return nil
	}
	for i := range v.packets {
		v.packets[i].at = time.Duration(i) * clipTick * time.Millisecond
		v.packets[i].hidden = v.packets[i].hidden && !v.packets[i].ahead // as it may be that only the time is missing
	}
	if shown := showOrder(v.packets); len(shown) > 0 {
		v.first = v.packets[shown[0]].at
	}
	if length := v.Duration(); length > v.limit {
		return tooLong(length, v.limit)
	}
	return nil
}

// readClip decodes the clip from end to end and keeps the targets, and what the reels
// take. Within a piece, pictures come in the order they are shown in.
func (v *video) readClip(clip *os.File, list []piece, targets []target, reels []*reel, l preprocess.Limits, out *Arena) (err error) {
	capture, err := openClip(clip)
	if err != nil {
		return err
	}
	defer func() { _ = capture.Close() }()
	defer inColoursOf(v.stream)()
	defer v.watchMemory(&err)()
	defer watchSizes(capture)()
	defer v.separately(list)()
	defer v.watchDamage(list, targets, reels)()
	mat := gocv.NewMat()
	defer closeMat(&mat)
	patchedPart := -1 // the last piece of which the decoder made something up
	for range clipLength(list) {
		ordinal := beginOf(v.packets, grab(capture, list))
		if ordinal < 0 || v.packets[ordinal].hidden {
			continue // a packet that is damaged, or not wanted: the clip does not say what is hidden
		}
		part := pieceOf(list, ordinal)
		if isPatched() {
			patchedPart = part
		}
		targets = notPassed(list, targets, ordinal)
		taker := due(reels, ordinal)
		if len(targets) == 0 && allOver(reels) {
			return nil
		}
		left := v.notReached(list, targets, ordinal)
		hit := len(left) < len(targets)
		targets = left
		if !hit && taker == nil || !retrieve(capture, &mat, l) {
			continue
		}
		v.patched = v.patched || part == patchedPart
		if taker != nil {
			if err := taker.take(mat, turnOf(v.stream), l.StretchSide, out); err != nil {
				return err
			}
		}
		if hit {
			if err := v.keep(mat, v.shownAt(ordinal), l, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// notPassed are the targets without those of pieces before that of a picture: they
// could not be decoded.
func notPassed(list []piece, targets []target, ordinal int) []target {
	part := pieceOf(list, ordinal)
	for len(targets) > 0 && pieceOf(list, targets[0].packet) < part {
		targets = targets[1:]
	}
	return targets
}

// notReached are the targets without those that a picture of their piece stands for:
// it is theirs, or the next one shown.
func (v *video) notReached(list []piece, targets []target, ordinal int) []target {
	part, at := pieceOf(list, ordinal), v.packets[ordinal].at
	for len(targets) > 0 && pieceOf(list, targets[0].packet) == part && targets[0].at <= at {
		targets = targets[1:]
	}
	return targets
}

// openClip has OpenCV read a clip.
func openClip(clip *os.File) (*gocv.VideoCapture, error) {
	if err := allowClips(); err != nil {
		return nil, fmt.Errorf("open clip: %w", err)
	}
	name := fmt.Sprintf("/proc/self/fd/%d", clip.Fd())
	capture, err := openBounded(name)
	if err != nil {
		return nil, fmt.Errorf("%w: open clip: %w", errDamaged, err)
	}
	capture.Set(orientationAuto, 0) // we turn them: some versions do not
	return capture, nil
}

// orientationAuto is OpenCV's CAP_PROP_ORIENTATION_AUTO, which gocv has no name
// for.
const orientationAuto = gocv.VideoCaptureProperties(49)

// clipLength is of how many packets a clip consists.
func clipLength(list []piece) int {
	n := clipTail
	for _, p := range list {
		n += p.to - p.from
	}
	return n
}

// grab decodes the next picture and says which packet it came from, -1 where
// there was none to decode. The binding does not tell success; that a picture
// was counted does.
func grab(capture *gocv.VideoCapture, list []piece) int {
	before := capture.Get(gocv.VideoCapturePosFrames)
	if err := capture.Grab(1); err != nil || capture.Get(gocv.VideoCapturePosFrames) <= before {
		return -1
	}
	return ordinalOf(list, max(int(math.Round(capture.Get(gocv.VideoCapturePosMsec)/clipTick)), 0))
}

// within says whether there is a picture, within the limit.
func within(mat gocv.Mat, l preprocess.Limits) bool {
	return !mat.Empty() && int64(mat.Cols())*int64(mat.Rows()) <= l.Pixels
}

// keep turns a picture upright and writes it to out.
func (v *video) keep(mat gocv.Mat, at time.Duration, l preprocess.Limits, out *Arena) error {
	if turn := turnOf(v.stream); turn != asStored {
		turned, err := upright(mat.Clone(), turn) // which takes it over
		if err != nil {
			return err
		}
		defer closeMat(&turned)
		mat = turned
	}
	if v.taken == 0 {
		v.width, v.height = mat.Cols(), mat.Rows()
	}
	v.taken++
	return canonical(mat, false, l.Side, at, out)
}
