//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"compress/lzw"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"io"
	"slices"
)

// decodeGIF decodes one frame of a GIF file, made into a file of its own. Go's decoder
// takes coded pixels for damage that the picture has no room for; browsers leave them out.
func decodeGIF(data []byte) (image.Image, error) {
	img, err := gif.Decode(bytes.NewReader(data))
	if err == nil {
		return img, nil
	}
	exact, mendErr := withoutSurplus(data)
	if mendErr == nil {
		img, err = gif.Decode(bytes.NewReader(exact))
	}
	if err != nil {
		return nil, fmt.Errorf("decode GIF: %w", errors.Join(err, mendErr))
	}
	return img, nil
}

// withoutSurplus codes the pixels of a frame anew, as many as it has room for.
func withoutSurplus(data []byte) ([]byte, error) {
	at := 13
	if flags := data[10]; flags&0x80 != 0 {
		at += 3 << (flags&7 + 1)
	}
	if data[at] == 0x21 {
		at += 8
	}
	size := data[at+5 : at+9]
	at += 11 // behind the size of the codes
	bits := int(data[at-1])
	var coded []byte
	for blocks := data[at:]; blocks[0] != 0; blocks = blocks[1+int(blocks[0]):] {
		coded = append(coded, blocks[1:1+int(blocks[0])]...)
	}
	pixels := make([]byte, (int(size[0])|int(size[1])<<8)*(int(size[2])|int(size[3])<<8))
	if _, err := io.ReadFull(lzw.NewReader(bytes.NewReader(coded), lzw.LSB, bits), pixels); err != nil {
		return nil, fmt.Errorf("decode the pixels: %w", err)
	}
	return slices.Concat(data[:at], gifBlocks(pixels, bits), []byte{0, 0x3b}), nil
}

// gifBlocks codes pixels.
func gifBlocks(pixels []byte, bits int) []byte {
	var coded bytes.Buffer
	w := lzw.NewWriter(&coded, lzw.LSB, bits)
	_, _ = w.Write(pixels) // they are out of codes of as many bits, and the buffer takes all
	_ = w.Close()
	var out []byte
	for block := range slices.Chunk(coded.Bytes(), 255) {
		out = append(append(out, byte(len(block))), block...)
	}
	return out
}
