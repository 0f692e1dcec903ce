//go:build gocv_specific_modules

package decode

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// alias is a QuickTime data reference to the file at path.
func alias(path string) []byte {
	record := make([]byte, 150) // version, volume, name, levels: of no use here
	record = binary.BigEndian.AppendUint16(record, 2)
	record = binary.BigEndian.AppendUint16(record, uint16(len(path)))
	record = append(record, path...)
	if len(path)%2 == 1 {
		record = append(record, 0)
	}
	record = binary.BigEndian.AppendUint16(record, 0xffff)
	record = binary.BigEndian.AppendUint16(record, 0)
	entry := binary.BigEndian.AppendUint32(nil, uint32(12+len(record)))
	return append(append(append(entry, "alis"...), 0, 0, 0, 0), record...)
}

// TestReferencesAreNotFollowed: a QuickTime file may say that its samples lie in
// another file, which is how to listen to the server's disk. That the reference
// is a good one is shown by FFmpeg, which follows it when it is told to.
func TestReferencesAreNotFollowed(t *testing.T) {
	t.Parallel()
	path := encode(t, clock(t, 1), "x.mov", "-vn", "-c:a", "pcm_s16le")
	file := read(t, path)
	at := box(t, file, "dref") + 8 // the only entry, which says that the samples are here
	reference := alias(path)
	grown := uint32(len(reference)) - binary.BigEndian.Uint32(file[at:])
	for _, kind := range []string{"moov", "trak", "mdia", "minf", "dinf", "dref"} {
		size := file[box(t, file[:at], kind)-8:]
		binary.BigEndian.PutUint32(size, binary.BigEndian.Uint32(size)+grown)
	}
	file = slices.Concat(file[:at], reference, file[at+int(binary.BigEndian.Uint32(file[at:])):])
	referring := filepath.Join(t.TempDir(), "referring.mov")
	if err := os.WriteFile(referring, file, 0o600); err != nil {
		t.Fatal(err)
	}
	ffmpeg(t, "-enable_drefs", "1", "-use_absolute_path", "1", "-i", referring, filepath.Join(t.TempDir(), "followed.wav"))
	d, err := decodePath(t, referring, preprocess.MOV, preprocess.DefaultLimits())
	if err == nil {
		t.Fatalf("%d windows were taken from another file", len(d.arena.Windows()))
	}
}
