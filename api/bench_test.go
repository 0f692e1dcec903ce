package api_test

import (
	"log/slog"
	"net/http"
	"testing"

	"deepfaked/api"
	"deepfaked/internal/account"
)

// BenchmarkDetect is what the service adds to an analysis: a small picture and
// a detector that takes no time, over one kept connection, accounts on disk.
func BenchmarkDetect(b *testing.B) {
	for name, size := range map[string]int{"50KB": 50 << 10, "1MB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			s := setup(b, config{plans: unlimited(), api: quiet})
			key := s.key("pro")
			contentType, body := form(b, zeros(size))
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				a := s.do(request{method: "POST", path: "/v1/detect", key: key, contentType: contentType, body: readerOf(body)})
				if a.status != http.StatusOK {
					b.Fatalf("answered %d %s", a.status, a.raw)
				}
			}
		})
	}
}

// BenchmarkUsage is the cheapest authenticated request.
func BenchmarkUsage(b *testing.B) {
	s := setup(b, config{plans: unlimited(), api: quiet})
	key := s.key("pro")
	b.ReportAllocs()
	for b.Loop() {
		s.get(key, "/v1/usage").ok(http.StatusOK)
	}
}

func quiet(o *api.Options) { o.Logger = slog.New(slog.DiscardHandler) }

func unlimited() []account.Plan {
	plans := tight(1 << 40)
	for i := range plans {
		plans[i].RequestsPerMinute = 1 << 40
	}
	return plans
}
