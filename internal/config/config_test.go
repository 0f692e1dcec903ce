package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/api"
	"deepfaked/internal/account"
	"deepfaked/internal/job"
	"deepfaked/preprocess"
)

func load(t *testing.T, text string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "deepfaked.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return Load(path)
}

func TestDefaultsAreTheContracts(t *testing.T) {
	t.Parallel()
	c := Default()
	require.NoError(t, c.Validate())
	assert.EqualValues(t, 104_857_600, c.Upload.Size)
	assert.EqualValues(t, 1_048_576, c.Upload.Form)
	assert.Equal(t, 30*24*time.Hour, c.Retention.Results)
	assert.Equal(t, 60, c.Anonymous.RequestsPerMinute)
	assert.Equal(t, account.DefaultPlans(), c.Plans.List())
	assert.Equal(t, preprocess.DefaultLimits(), c.Limits)
	assert.False(t, c.KeepUploads)
	assert.Empty(t, c.Proxies)
}

// The same defaults stand in api and job, which do not import this package nor
// it them. They had drifted apart: an upload of 5 KiB a second was cut off by
// what api said of itself and let through by what the service was told.
func TestDefaultsAreThoseOfThePackages(t *testing.T) {
	t.Parallel()
	c, server, jobs := Default(), api.DefaultOptions(), job.DefaultOptions()
	assert.Equal(t, server.Listen, c.Listen)
	assert.EqualValues(t, server.FileBytes, c.Upload.Size)
	assert.EqualValues(t, server.FormBytes, c.Upload.Form)
	assert.Equal(t, server.Uploads, c.Upload.Parallel)
	assert.Equal(t, server.UploadsPerAccount, c.Upload.ParallelPerAccount)
	assert.Equal(t, server.Pace.Idle, c.Upload.IdleTimeout)
	assert.EqualValues(t, server.Pace.Rate, c.Upload.MinimumRate)
	assert.Equal(t, server.AddressPerMinute, c.Anonymous.RequestsPerMinute)
	assert.Equal(t, server.SyncDeadline, c.Deadline)
	assert.Equal(t, server.Drain, c.Drain)
	assert.Equal(t, jobs.Workers, c.Jobs.Workers)
	assert.Equal(t, jobs.Queue, c.Jobs.Queue)
	assert.Equal(t, jobs.Attempts, c.Jobs.Attempts)
	assert.Equal(t, jobs.Deadline, c.Jobs.Deadline)
}

func TestLoadChangesOnlyWhatItNames(t *testing.T) {
	t.Parallel()
	c, err := load(t, `
listen: 0.0.0.0:9000
admin: 127.0.0.1:9001
models: [a, b]
weights: w
report_key: k.pem
onnxruntime: /lib/libonnxruntime.so
uploads: s3://uploads
inference: {sessions: 2, threads: 3, precision: full, quality: fast, devices: [0, 2], gpu_memory: 4GiB, wait: 2s, burst: 1m}
decoder: {children: 4, timeout: 5s, memory: 2GiB, confinement: required}
limits: {pixels: 1000000, duration: 10m, frames: 8}
upload: {size: 1048576, form: 64KiB, idle_timeout: 10s, minimum_rate: 0, parallel: 9, parallel_per_account: 2, spool: 1GiB}
jobs: {workers: 2, queue: 3, attempts: 5, deadline: 4m}
plans:
  free: {requests_per_minute: 7}
  pro: {scans: 5, period: lifetime, daily: 3, async: false}
unauthenticated: {requests_per_minute: 30}
retention: {results: 24h}
log: {level: debug, format: text}
deadline: 90s
drain: 1m30s
trusted_proxies: [10.0.0.0/8, "::1"]
keep_uploads: true
`)
	require.NoError(t, err)
	require.NoError(t, c.Validate())
	want := Default()
	want.Admin = "127.0.0.1:9001"
	want.Listen, want.Models, want.ONNXRuntime = "0.0.0.0:9000", []string{"a", "b"}, "/lib/libonnxruntime.so"
	want.Weights, want.ReportKey = "w", "k.pem"
	want.Uploads = "s3://uploads"
	want.Inference = Inference{Sessions: 2, Threads: 3, Precision: "full", Quality: "fast", Devices: []int{0, 2}, GPUMemory: 4 * GiB, Wait: 2 * time.Second, Burst: time.Minute}
	want.Decoder = Decoder{Children: 4, Timeout: 5 * time.Second, Memory: 2 * GiB, Confinement: "required"}
	want.Limits.Pixels, want.Limits.Duration, want.Limits.Frames = 1_000_000, 10*time.Minute, 8
	want.Upload = Upload{Size: MiB, Form: 64 * KiB, IdleTimeout: 10 * time.Second, Parallel: 9, ParallelPerAccount: 2, Spool: GiB}
	want.Jobs = Jobs{Workers: 2, Queue: 3, Attempts: 5, Deadline: 4 * time.Minute}
	want.Plans.Free.RequestsPerMinute = 7
	want.Plans.Pro = account.Plan{Name: "pro", RequestsPerMinute: 60, Daily: 3, Scans: 5, Period: account.Lifetime}
	want.Anonymous.RequestsPerMinute = 30
	want.Retention.Results = 24 * time.Hour
	want.Log = Log{Level: "debug", Format: "text"}
	want.Deadline, want.Drain = 90*time.Second, 90*time.Second
	want.Proxies, want.KeepUploads = []string{"10.0.0.0/8", "::1"}, true
	assert.Equal(t, want, c)
}

func TestLoadNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"empty": "", "comment": "# nothing\n", "document": "---\n", "null": "null\n", "marker and comment": "---\n# nothing\n"} {
		c, err := load(t, text)
		require.NoError(t, err, name)
		assert.Equal(t, Default(), c, name)
	}
}

// TestLoadPastAByteOrderMark: of a file as some editors write it, "\ufefflisten" was said to be no field.
func TestLoadPastAByteOrderMark(t *testing.T) {
	t.Parallel()
	c, err := load(t, "\ufefflisten: 127.0.0.1:5\n")
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1:5", c.Listen)
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"an unknown field", "listen: :1\nlisten_on: :2\n", []string{"[2:1]", `unknown field "listen_on"`}},
		{"an unknown field inside", "plans:\n  free:\n    scan: 5\n", []string{"[3:5]", `unknown field "scan"`}},
		{"what the models ask for", "limits:\n  stretches: 4\n", []string{"[2:3]", `unknown field "stretches"`}},
		{"an unknown plan", "plans:\n  gold: {scans: 5}\n", []string{"[2:3]", `unknown field "gold"`}},
		{"a field twice", "drain: 1s\ndrain: 2s\n", []string{"[2:1]", "drain"}},
		{"a wrong type", "drain: 1s\nmodels: 5\n", []string{"[2:9]"}},
		{"a duration without a unit", "plans:\n  free: {scans: 1}\ndrain: 30\n", []string{"[3:8]", "duration"}},
		{"no duration", "drain: soon\n", []string{"[1:8]", "drain", "soon"}},
		{"no size", "upload:\n  size: 5 apples\n", []string{"[2:9]", "upload.size", "5 apples", "100MiB"}},
		{"a negative size", "upload:\n  size: -1\n", []string{"is not a size"}},
		{"no value", "listen: :1\ndrain:\n", []string{"[2:1]", "drain has no value"}},
		{"no value inside", "plans:\n  free:\n    scans: ~\n", []string{"[3:5]", "plans.free.scans has no value"}},
		{"no YAML", "listen: [", []string{"[1:9]"}},
		{"a list", "- 1\n", []string{"[1:"}},
		{"two documents", "drain: 1s\n---\ndrain: 2s\n", []string{"one YAML document"}},
		// What stood behind an empty document was left out without a word.
		{"two documents, one empty", "---\n---\ndrain: 2s\n", []string{"one YAML document"}},
		{"two documents, one a comment", "---\n# for later\n---\ndrain: 2s\n", []string{"one YAML document"}},
		// The data were put in a folder with U+FFFD in its name.
		{"a name that is not UTF-8", "data: d\xe9\n", []string{"must be UTF-8"}},
		{"too large", strings.Repeat("#\n", fileLimit/2+1), []string{"larger than 1MiB"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tt.text)
			require.Error(t, err)
			for _, want := range append(tt.want, "deepfaked.yaml") {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

// A plan with `daily: 0.5` had no daily limit, as fractions were cut off without a
// word, and one with `scans: 010` had eight scans.
func TestLoadRefusesNumbersThatItWouldChange(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plans: {free: {daily: 0.5}}":           "[1:23] plans.free.daily is 0.5, and must be a whole number",
		"jobs:\n  workers: 2.5 # or three":      "[2:12] jobs.workers is 2.5, and must be a whole number",
		"jobs: {workers: '2.5'}":                "jobs.workers is 2.5",
		"jobs: {workers: -.5}":                  "jobs.workers is -.5",
		"jobs: {<<: {workers: 25e-1}}":          "workers is 25e-1",
		"limits: {pixels: 1_000.5}":             "limits.pixels is 1_000.5",
		"inference:\n  devices:\n  - 0\n  - .5": "[4:5] inference.devices[1] is .5",
		"plans: {pro: {scans: 010}}":            "[1:22] plans.pro.scans is 010, and must be written without the zero in front",
		"jobs: {workers: -0_1}":                 "jobs.workers is -0_1",
		"upload: {size: 0100}":                  "upload.size is 0100",
		"inference: {devices: [1, 02]}":         "inference.devices[1] is 02",
		"data: 007":                             "data is 007",
	} {
		_, err := load(t, text)
		assert.ErrorContains(t, err, want, text)
	}
	c, err := load(t, "prior: 0.25\ndata: '1.5'\nuploads: 007x\njobs: {workers: 2.0, queue: 1e2, attempts: 0x7}\nlimits: {side: '8'}\nplans: {pro: {daily: 0}}\n")
	require.NoError(t, err)
	want := Default()
	want.Prior, want.Data, want.Uploads, want.Limits.Side = 0.25, "1.5", "007x", 8
	want.Jobs.Workers, want.Jobs.Queue, want.Jobs.Attempts = 2, 100, 7
	assert.Equal(t, want, c)
}

// What was wrong with a value was told in Go's types: "cannot unmarshal uint64 into
// Go struct field Config.Deadline of type time.Duration".
func TestLoadSaysWhatAValueMustBe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"deadline: 5":                         "[1:11] deadline must be a duration such as 30s",
		"limits: {duration: true}":            "[1:20] limits.duration must be a duration such as 30s",
		"keep_uploads: yes":                   "[1:15] keep_uploads must be true or false",
		"trusted_proxies: 10.0.0.1":           "[1:18] trusted_proxies must be a list such as [a, b]",
		"inference: {devices: [0, a]}":        "[1:26] inference.devices[1] must be a whole number",
		"listen: [a]":                         "[1:9] listen must be a text",
		"prior: even":                         "[1:8] prior must be a number",
		"jobs: 4":                             "[1:7] jobs must be a group of fields",
		"jobs: {queue: 99999999999999999999}": "[1:15] jobs.queue must be a number of at most 64 bits",
	} {
		_, err := load(t, text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestLoadWithoutAFile(t *testing.T) {
	t.Parallel()
	_, err := Load(filepath.Join(t.TempDir(), "absent.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "absent.yaml")
	_, err = Load(t.TempDir())
	assert.Error(t, err)
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "listen: :1", "plans: {free: {scans: 1}}", "upload: {size: 100MiB}", "drain: 30s", "limits: {side: 1e3}",
		"a: &a [*a]", "listen: [", "models: [a]\n---\n", "deadline: 9999999999h", "<<: {listen: x}", "? a", "\x00", "!!binary a",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(_ *testing.T, text []byte) {
		if c, err := parse(text); err == nil {
			_ = c.Validate()
		}
	})
}
