package preprocess

// mpegAudio recognises MPEG audio by two frames in a row, as adts does.
func mpegAudio(head []byte) bool {
	length := mpegFrame(head)
	return length > 0 && (length+4 > len(head) || mpegFrame(head[length:]) > 0)
}

// mpegAudioWithin recognises MPEG audio that does not begin on a frame, because it was
// cut or zeros stand before it, by three frames in a row: less than one in a thousand
// million files of noise has them by chance.
func mpegAudioWithin(head []byte) bool {
	for at := range head {
		if next := nextFrame(head, at); next > 0 && nextFrame(head, next) > 0 {
			return true
		}
	}
	return false
}

// nextFrame is where the frame behind the one that begins there begins, if it is in
// sight and of the same version, layer and sampling rate; else 0.
func nextFrame(head []byte, at int) int {
	length := mpegFrame(head[at:])
	next := at + length
	if length == 0 || next+4 > len(head) || mpegFrame(head[next:]) == 0 ||
		head[at+1]&0xfe != head[next+1]&0xfe || head[at+2]&0x0c != head[next+2]&0x0c {
		return 0
	}
	return next
}

// mpegFrame is the length of the MPEG-1, 2 or 2.5 audio frame of layer 2 or 3
// that begins here, or 0. Layer 1 is extinct, and looks like the byte order mark
// of UTF-16. ISO/IEC 11172-3, 2.4.2.3.
func mpegFrame(b []byte) int {
	if len(b) < 4 || b[0] != 0xff || b[1]&0xe0 != 0xe0 {
		return 0
	}
	version, layer := b[1]>>3&3, 4-b[1]>>1&3 // version: 0 is 2.5, 2 is 2, 3 is 1
	bitrate, rate := int(b[2]>>4), int(b[2]>>2&3)
	if version == 1 || layer == 4 || layer == 1 || bitrate == 0 || bitrate == 15 || rate == 3 {
		return 0
	}
	kbit := mpegBitrate(version == 3, layer, bitrate)
	hertz := []int{44100, 48000, 32000}[rate] >> map[byte]int{3: 0, 2: 1, 0: 2}[version]
	padding := int(b[2] >> 1 & 1)
	if layer == 3 && version != 3 {
		return 72*kbit*1000/hertz + padding
	}
	return 144*kbit*1000/hertz + padding
}

// mpegBitrate is in kbit/s; index is from 1 to 14.
func mpegBitrate(mpeg1 bool, layer byte, index int) int {
	switch {
	case mpeg1 && layer == 2:
		return []int{32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384}[index-1]
	case mpeg1:
		return []int{32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}[index-1]
	}
	return []int{8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}[index-1]
}
