package spool_test

import (
	"testing"

	"deepfaked/internal/spool"
)

// BenchmarkUpload is what a picture of 20 kB costs the spool: one that is judged, on the
// disk and in memory, and one in memory that is refused.
func BenchmarkUpload(b *testing.B) {
	for name, c := range map[string]struct {
		memory  int64
		refused bool
	}{"disk": {}, "memory": {memory: 1 << 20}, "refused": {1 << 20, true}} {
		b.Run(name, func(b *testing.B) {
			s, err := spool.New(spool.Options{Dir: b.TempDir(), Memory: c.memory})
			if err != nil {
				b.Fatal(err)
			}
			picture := make([]byte, 20<<10)
			for b.Loop() {
				f, err := s.Create()
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.Write(picture); err != nil {
					b.Fatal(err)
				}
				if !c.refused {
					if _, err := f.Rewind(); err != nil {
						b.Fatal(err)
					}
					_ = f.SHA256()
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
