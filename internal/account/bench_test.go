package account

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"deepfaked/internal/store"
)

// benchLedger has one account that no limit will stop.
func benchLedger(b *testing.B) (*Ledger, Account) {
	b.Helper()
	s, err := store.Open(b.Context(), b.TempDir(), store.DefaultOptions())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	o := DefaultOptions()
	o.Alone = true
	o.Plans = []Plan{{Name: "pro", RequestsPerMinute: 1, Scans: 1 << 40, Period: Monthly, Async: true}}
	l, err := New(s, o)
	if err != nil {
		b.Fatal(err)
	}
	key, err := l.CreateKey(b.Context(), "bench", "pro")
	if err != nil {
		b.Fatal(err)
	}
	a, err := l.Authenticate(b.Context(), key.Token)
	if err != nil {
		b.Fatal(err)
	}
	return l, a
}

// scan is what a successful request costs.
func scan(ctx context.Context, l *Ledger, a Account) error {
	id := NewDetectionID()
	if err := l.Reserve(ctx, a, Submission{ID: id, Sensitivity: "balanced"}); err != nil {
		return err
	}
	_, err := l.Settle(ctx, id, Outcome{Kind: "image", Verdict: "real", Confidence: 0.75, Report: report})
	return err
}

// report has about the size of a picture's.
var report = []byte(`{"probability_fake":0.25,"threshold":0.5,"sensitivity":"balanced","format":"JPEG","width":1280,` +
	`"height":720,"provider":"CPUExecutionProvider","findings":[{"task":"image-synthesis","probability_fake":0.25,` +
	`"threshold":0.5,"pieces":[{"at_seconds":0,"probability_fake":0.25}]}],"models":[{"name":"image-synthesis",` +
	`"version":"1","sha256":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","threshold":0.5,` +
	`"false_positive_rate":0.05,"detection_rate":0.9}],"timings_us":{"decode":5000,"inference":20000}}`)

func BenchmarkScan(b *testing.B) {
	for _, workers := range []int{1, 8} {
		b.Run(map[int]string{1: "one", 8: "eight"}[workers], func(b *testing.B) {
			l, a := benchLedger(b)
			b.ReportAllocs()
			b.ResetTimer()
			spread(b, workers, func() error { return scan(context.Background(), l, a) })
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "scans/s")
		})
	}
}

// spread runs do b.N times in all on the given number of goroutines.
func spread(b *testing.B, workers int, do func() error) {
	b.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for next.Add(1) <= int64(b.N) {
				if err := do(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

func BenchmarkAuthenticate(b *testing.B) {
	l, _ := benchLedger(b)
	key, err := l.CreateKey(b.Context(), "bench", "pro")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Authenticate(context.Background(), key.Token); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUsage(b *testing.B) {
	l, a := benchLedger(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Usage(context.Background(), a); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLimiter(b *testing.B) {
	l, err := NewLimiter(DefaultLimiterOptions())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l.Allow("account", 60)
		}
	})
}
