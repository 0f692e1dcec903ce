// Package decode is what runs inside the decoder child: it parses one media
// file after another and writes pixels and samples into memory shared with the
// server. OpenCV and FFmpeg are reached only from here.
package decode
