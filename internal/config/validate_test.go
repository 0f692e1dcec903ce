package config

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestValidateNamesTheField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		want   string
		change func(*Config)
	}{
		{"listen must be host:port", func(c *Config) { c.Listen = "8080" }},
		{"listen: the port", func(c *Config) { c.Listen = ":65536" }},
		{"listen: the port", func(c *Config) { c.Listen = "localhost:http" }},
		{"admin must be host:port", func(c *Config) { c.Admin = "9090" }},
		{"admin: the port", func(c *Config) { c.Admin = ":http" }},
		{"data must name a folder", func(c *Config) { c.Data = "" }},
		{"models must not contain an empty name", func(c *Config) { c.Models = []string{"a", ""} }},
		{"provider must be auto, cpu, cuda", func(c *Config) { c.Provider = "tpu" }},
		{"inference.precision must be auto, full, int8", func(c *Config) { c.Inference.Precision = "half" }},
		{"inference.quality must be auto, best, fast", func(c *Config) { c.Inference.Quality = "good" }},
		{"log.level must be debug, info, warn, error", func(c *Config) { c.Log.Level = "loud" }},
		{"log.format must be json, text", func(c *Config) { c.Log.Format = "" }},
		{"prior is 0, it must lie between 0 and 1", func(c *Config) { c.Prior = 0 }},
		{"prior is 1, it must lie between 0 and 1", func(c *Config) { c.Prior = 1 }},
		{"prior is NaN", func(c *Config) { c.Prior = math.NaN() }},
		{"inference.sessions must be at least 0", func(c *Config) { c.Inference.Sessions = -1 }},
		{"inference.threads must be at most 1024", func(c *Config) { c.Inference.Threads = 1025 }},
		{"inference.devices must be at least 0", func(c *Config) { c.Inference.Devices = []int{0, -1} }},
		{"inference.devices names the GPU 1 twice", func(c *Config) { c.Inference.Devices = []int{1, 0, 1} }},
		{"inference.gpu_memory must be at least 0", func(c *Config) { c.Inference.GPUMemory = -1 }},
		{"inference.wait must be at least 10ms", func(c *Config) { c.Inference.Wait = 0 }},
		{"inference.burst must be at least 1s", func(c *Config) { c.Inference.Burst = time.Millisecond }},
		{"unauthenticated.requests_per_minute must be at least 1", func(c *Config) { c.Anonymous.RequestsPerMinute = 0 }},
		{"decoder.children must be at least 0", func(c *Config) { c.Decoder.Children = -1 }},
		{"decoder.timeout must be at least 100ms", func(c *Config) { c.Decoder.Timeout = 0 }},
		{"decoder.confinement must be auto, required, off, and is \"none\"", func(c *Config) { c.Decoder.Confinement = "none" }},
		{"decoder.memory must be at least 1536MiB, and is 1GiB", func(c *Config) { c.Decoder.Memory = GiB }}, // with which none starts
		{"upload.size must be at least 1", func(c *Config) { c.Upload.Size = 0 }},
		{"upload.form must be at least 1KiB", func(c *Config) { c.Upload.Form = 0 }},
		{"upload.minimum_rate must be at least 0", func(c *Config) { c.Upload.MinimumRate = -1 }},
		{"upload.parallel_per_account must be at least 1", func(c *Config) { c.Upload.ParallelPerAccount = 0 }},
		{"upload.parallel_per_account must be at most upload.parallel, which is 8, and is 16", func(c *Config) { c.Upload.Parallel = 8 }},
		{"upload.spool must be at least upload.size, which is 100MiB, and is 99MiB", func(c *Config) { c.Upload.Spool = 99 * MiB }},
		{"upload.idle_timeout must be at least 100ms", func(c *Config) { c.Upload.IdleTimeout = 30 }},
		{`uploads is "ftp://x", it must be file://, s3://BUCKET`, func(c *Config) { c.Uploads = "ftp://x" }},
		{`uploads is "s3://", it must name a bucket`, func(c *Config) { c.Uploads = "s3://" }},
		{`uploads is "file://jobs", it must be file://`, func(c *Config) { c.Uploads = "file://jobs" }},
		{`uploads is "file:///jobs?create_dir=1", it must be`, func(c *Config) { c.Uploads = "file:///jobs?create_dir=1" }},
		{`uploads is "", it must be`, func(c *Config) { c.Uploads = "" }},
		{`uploads is "minio://u:xxxxx@host/b", it must be`, func(c *Config) { c.Uploads = "minio://u:secret@host/b" }},
		{`uploads is "https://a.example/c?sv=xxxxx&sig=xxxxx", it must be`, func(c *Config) { c.Uploads = "https://a.example/c?sv=1&sig=secret" }},
		{"uploads is no address", func(c *Config) { c.Uploads = "s3://%zz" }},
		// The parser's own words had the key in them.
		{"uploads is no address: it must be file://, s3://BUCKET, gs://BUCKET or azblob://CONTAINER, without a key", func(c *Config) { c.Uploads = "s3://AKIAX:wJalr/SECRET@bucket" }},
		{"deadline must be at least 1s", func(c *Config) { c.Deadline = 0 }},
		{"drain must be at least 0s", func(c *Config) { c.Drain = -1 }},
		{"drain must be at most 1h0m0s", func(c *Config) { c.Drain = 2 * time.Hour }},
		{"retention.results must be at least 1m0s", func(c *Config) { c.Retention.Results = 0 }},
		{"retention.interval must be at least 1s", func(c *Config) { c.Retention.Interval = 0 }},
		{`trusted_proxies: "proxy" is neither`, func(c *Config) { c.Proxies = []string{"10.0.0.1", "proxy"} }},
		{"limits: pixels must be at least 1", func(c *Config) { c.Limits.Pixels = 0 }},
		{"plans.free.requests_per_minute must be at least 1", func(c *Config) { c.Plans.Free.RequestsPerMinute = 0 }},
		{"plans.starter.daily must be at least 0", func(c *Config) { c.Plans.Starter.Daily = -1 }},
		{"plans.pro.scans must be at least 1", func(c *Config) { c.Plans.Pro.Scans = 0 }},
		{"plans.pro.period must be lifetime or monthly", func(c *Config) { c.Plans.Pro.Period = "" }},
	} {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			c := Default()
			tt.change(&c)
			assert.ErrorContains(t, c.Validate(), tt.want)
		})
	}
}

func TestValidateAccepts(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{":0", "127.0.0.1:0", "[::1]:8080", "localhost:65535"} {
		c := Default()
		c.Listen, c.Drain, c.Upload.Size, c.Upload.MinimumRate = listen, 0, 1, 0
		assert.NoError(t, c.Validate(), listen)
	}
}

func TestValidateUploads(t *testing.T) {
	t.Parallel()
	for _, uploads := range []string{
		"file://", "file:///var/jobs", "file:///var/jobs/", "gs://uploads", "gs://uploads/", "azblob://uploads?prefix=a/",
		"s3://uploads?endpoint=http://127.0.0.1:7070&use_path_style=true&region=us-east-1",
	} {
		c := Default()
		c.Uploads = uploads
		assert.NoError(t, c.Validate(), uploads)
	}
}

// Of s3://uploads/staging and s3://uploads/production the folder was left out without
// a word: both were the whole bucket, and each service removed the other's uploads
// after an hour, as having no job. Keys in the address were left out, too.
func TestValidateBuckets(t *testing.T) {
	t.Parallel()
	for _, uploads := range []string{"s3://uploads/staging", "gs://uploads/staging?x=y", "azblob://uploads#staging", "s3://key:secret@uploads"} {
		c := Default()
		c.Uploads = uploads
		err := c.Validate()
		require.Error(t, err, uploads)
		assert.ErrorContains(t, err, "a folder in it is named by ?prefix=FOLDER/", uploads)
		assert.NotContains(t, err.Error(), "secret", uploads)
	}
}

// The password of a Redis stood in the log of a service whose address of it began
// with another word.
func TestValidateRedis(t *testing.T) {
	t.Parallel()
	for _, redis := range []string{"localhost", ":secret@localhost:6379", "http://u:secret@localhost", "secret://localhost"} {
		c := Default()
		c.Redis = redis
		err := c.Validate()
		require.Error(t, err, redis)
		assert.ErrorContains(t, err, "redis must be an address such as redis://USER:PASSWORD@HOST:6379/0", redis)
		assert.NotContains(t, err.Error(), "secret", redis)
	}
	for _, redis := range []string{"", "redis://u:secret@localhost", "rediss://localhost", "unix:///run/redis.sock"} {
		c := Default()
		c.Redis = redis
		assert.NoError(t, c.Validate(), redis)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want Size
		back string
	}{
		{"0", 0, "0"},
		{"104857600", 100 * MiB, "100MiB"},
		{"100MiB", 100 * MiB, "100MiB"},
		{" 64 KiB ", 64 * KiB, "64KiB"},
		{"1GB", 1_000_000_000, "1000000000"},
		{"1500kB", 1_500_000, "1500000"},
		{"2KB", 2000, "2000"},
		{"3MB", 3_000_000, "3000000"},
		{"12B", 12, "12"},
		{"4GiB", 4 * GiB, "4GiB"},
		{"9223372036854775807", math.MaxInt64, "9223372036854775807"},
	} {
		var s Size
		require.NoError(t, s.UnmarshalText([]byte(tt.text)), tt.text)
		assert.Equal(t, tt.want, s, tt.text)
		assert.Equal(t, tt.back, s.String())
		text, err := s.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, tt.back, string(text))
	}
	for _, text := range []string{"", "MiB", "-1", "1.5GiB", "1TiBB", "9223372036854775808", "8589934592GiB", "0x10", "1 M", "1e3"} {
		s := Size(7)
		require.ErrorContains(t, s.UnmarshalText([]byte(text)), "is not a size", text)
		assert.EqualValues(t, 7, s, "unchanged")
	}
}

func FuzzSize(f *testing.F) {
	for _, text := range []string{"0", "1", "100MiB", "64 KiB", "-1", "8589934592GiB", "1.5GB", "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s, again Size
		if s.UnmarshalText([]byte(text)) != nil {
			return
		}
		if s < 0 {
			t.Fatalf("%q is read as %d", text, int64(s))
		}
		if err := again.UnmarshalText([]byte(s.String())); err != nil || again != s {
			t.Fatalf("%q is read as %d, and what that is written as, %s, as %d (%v)", text, int64(s), s, int64(again), err)
		}
	})
}
