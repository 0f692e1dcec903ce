package spool_test

import (
	"testing"

	"deepfaked/internal/spool"
)

// BenchmarkUpload is what a picture of 20 kB costs the spool, on the disk and in memory.
func BenchmarkUpload(b *testing.B) {
	for name, memory := range map[string]int64{"disk": 0, "memory": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			s, err := spool.New(spool.Options{Dir: b.TempDir(), Memory: memory})
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
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
