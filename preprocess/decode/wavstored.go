package decode

import (
	"encoding/binary"
	"fmt"
	"io"
)

// judged says whether samples lie in the file as they are judged: one channel of
// 16 bits at soundRate.
func (s wavSound) judged() bool {
	return s.Encoding == wavPCM && s.Bytes == 2 && s.Channels == 1 && s.Rate == soundRate
}

// stored are samples that lie in a file as they are judged. They are read where a
// window is, and not kept.
type stored struct {
	data  io.ReaderAt
	block [2 * wavBlock]byte
}

// read fills dst from sample from on.
func (s *stored) read(dst []int16, from int) error {
	for len(dst) > 0 {
		n := min(len(dst), wavBlock)
		raw := s.block[:2*n]
		if _, err := s.data.ReadAt(raw, 2*int64(from)); err != nil {
			return fmt.Errorf("read samples: %w", err)
		}
		for i := range dst[:n] {
			dst[i] = int16(binary.LittleEndian.Uint16(raw[2*i:])) //nolint:gosec // the bits are those of numbers with a sign
		}
		dst, from = dst[n:], from+n
	}
	return nil
}
