package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"deepfaked/internal/redact"
)

// Validate names the first field that makes no sense, by its name in the
// configuration file.
func (c Config) Validate() error {
	for _, check := range []func() error{
		c.validateService, c.validateInference, c.validateDecoder, c.validateUpload, c.validateJobs, c.validateTimes, c.validateProxies, c.Limits.Validate,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	for _, p := range c.Plans.List() {
		if err := p.Validate(); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) validateService() error {
	if err := validateListen("listen", c.Listen); err != nil {
		return err
	}
	if c.Admin != "" {
		if err := validateListen("admin", c.Admin); err != nil {
			return err
		}
	}
	if err := validateRedis(c.Redis); err != nil {
		return err
	}
	if err := validateDatabase(c.Database); err != nil {
		return err
	}
	if err := validateUploads(c.Uploads); err != nil {
		return err
	}
	if c.Data == "" {
		return fmt.Errorf("data must name a folder")
	}
	if slices.Contains(c.Models, "") {
		return fmt.Errorf("models must not contain an empty name")
	}
	if err := oneOf("provider", c.Provider, "auto", "cpu", "cuda", "tensorrt"); err != nil {
		return err
	}
	if err := oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error"); err != nil {
		return err
	}
	if err := oneOf("log.format", c.Log.Format, "json", "text"); err != nil {
		return err
	}
	if !(c.Prior > 0 && c.Prior < 1) {
		return fmt.Errorf("prior is %g, it must lie between 0 and 1: the share of fakes among what is judged", c.Prior)
	}
	return between("unauthenticated.requests_per_minute", c.Anonymous.RequestsPerMinute, 1, 1_000_000)
}

func (c Config) validateInference() error {
	if err := oneOf("inference.precision", c.Inference.Precision, "auto", "full", "int8", "fp16", "tf32"); err != nil {
		return err
	}
	if err := oneOf("inference.quality", c.Inference.Quality, "auto", "best", "fast"); err != nil {
		return err
	}
	if err := between("inference.sessions", c.Inference.Sessions, 0, 256); err != nil {
		return err
	}
	if err := between("inference.threads", c.Inference.Threads, 0, 1024); err != nil {
		return err
	}
	for i, id := range c.Inference.Devices {
		if err := between("inference.devices", id, 0, 1024); err != nil {
			return err
		}
		if slices.Contains(c.Inference.Devices[:i], id) {
			return fmt.Errorf("inference.devices names the GPU %d twice", id)
		}
	}
	return between("inference.gpu_memory", c.Inference.GPUMemory, 0, 1024*GiB)
}

func (c Config) validateDecoder() error {
	if err := between("decoder.children", c.Decoder.Children, 0, 1024); err != nil {
		return err
	}
	if err := duration("decoder.timeout", c.Decoder.Timeout, 100*time.Millisecond, time.Hour); err != nil {
		return err
	}
	if err := oneOf("decoder.confinement", c.Decoder.Confinement, "auto", "required", "off"); err != nil {
		return err
	}
	return between("decoder.memory", c.Decoder.Memory, 1536*MiB, 1024*GiB)
}

func (c Config) validateUpload() error {
	if err := between("upload.size", c.Upload.Size, 1, 1024*GiB); err != nil {
		return err
	}
	if err := between("upload.form", c.Upload.Form, KiB, GiB); err != nil {
		return err
	}
	if err := between("upload.minimum_rate", c.Upload.MinimumRate, 0, GiB); err != nil {
		return err
	}
	if err := between("upload.parallel", c.Upload.Parallel, 1, 65536); err != nil {
		return err
	}
	if err := between("upload.parallel_per_account", c.Upload.ParallelPerAccount, 1, 65536); err != nil {
		return err
	}
	if c.Upload.ParallelPerAccount > c.Upload.Parallel {
		return fmt.Errorf("upload.parallel_per_account must be at most upload.parallel, which is %d, and is %d",
			c.Upload.Parallel, c.Upload.ParallelPerAccount)
	}
	if c.Upload.Spool < c.Upload.Size {
		return fmt.Errorf("upload.spool must be at least upload.size, which is %s, and is %s", c.Upload.Size, c.Upload.Spool)
	}
	return duration("upload.idle_timeout", c.Upload.IdleTimeout, 100*time.Millisecond, time.Hour)
}

func (c Config) validateJobs() error {
	if err := between("jobs.workers", c.Jobs.Workers, 0, 1024); err != nil {
		return err
	}
	if err := between("jobs.queue", c.Jobs.Queue, 1, 1_000_000); err != nil {
		return err
	}
	if err := between("jobs.attempts", c.Jobs.Attempts, 1, 100); err != nil {
		return err
	}
	return duration("jobs.deadline", c.Jobs.Deadline, time.Second, 24*time.Hour)
}

func (c Config) validateTimes() error {
	if err := duration("deadline", c.Deadline, time.Second, 24*time.Hour); err != nil {
		return err
	}
	if err := duration("drain", c.Drain, 0, time.Hour); err != nil {
		return err
	}
	if err := duration("retention.results", c.Retention.Results, time.Minute, 100*365*24*time.Hour); err != nil {
		return err
	}
	if err := duration("inference.wait", c.Inference.Wait, 10*time.Millisecond, time.Hour); err != nil {
		return err
	}
	if err := duration("inference.burst", c.Inference.Burst, c.Inference.Wait, 24*time.Hour); err != nil {
		return err
	}
	return duration("retention.interval", c.Retention.Interval, time.Second, 30*24*time.Hour)
}

func (c Config) validateProxies() error {
	for _, p := range c.Proxies {
		_, errNetwork := netip.ParsePrefix(p)
		_, errAddr := netip.ParseAddr(p)
		if errNetwork != nil && errAddr != nil {
			return fmt.Errorf("trusted_proxies: %q is neither an address nor a network such as 10.0.0.0/8", p)
		}
	}
	return nil
}

// validateUploads looks at the address alone: whether there is such a bucket is
// seen when it is opened.
func validateUploads(uploads string) error {
	u, err := url.Parse(uploads)
	if err != nil { // which quotes the address, and so a key that stands in it
		return errors.New("uploads is no address: it must be file://, s3://BUCKET, gs://BUCKET or azblob://CONTAINER, without a key")
	}
	switch u.Scheme {
	case "file":
		if uploads != (&url.URL{Scheme: "file", Path: u.Path}).String() && uploads != "file://" || u.Path == "/" {
			return fmt.Errorf("uploads is %q, it must be file:// for the data folder or file:///DIR for another one", redact.Text(uploads))
		}
	case "s3", "gs", "azblob":
		if u.Host == "" {
			return fmt.Errorf("uploads is %q, it must name a bucket, such as %s://BUCKET", redact.Text(uploads), u.Scheme)
		}
		return validateBucket(u)
	default:
		return fmt.Errorf("uploads is %q, it must be file://, s3://BUCKET, gs://BUCKET or azblob://CONTAINER", redact.Text(uploads))
	}
	return nil
}

// validateBucket refuses what the clients of buckets would leave out without a word:
// two services with a folder each would share the bucket, and remove each other's
// uploads. It says nothing of the address: a key may stand in it.
func validateBucket(u *url.URL) error {
	if strings.Trim(u.Path, "/") == "" && u.User == nil && u.Fragment == "" {
		return nil
	}
	return fmt.Errorf("uploads must be %s://BUCKET, and after it only ? and options: a folder in it is named by ?prefix=FOLDER/, and keys come from the environment", u.Scheme)
}

// validateRedis says nothing of the address: a password may stand in it.
func validateRedis(address string) error {
	begins := func(scheme string) bool { return strings.HasPrefix(address, scheme) }
	if address == "" || slices.ContainsFunc([]string{"redis://", "rediss://", "unix://"}, begins) {
		return nil
	}
	return errors.New("redis must be an address such as redis://USER:PASSWORD@HOST:6379/0; leave it out where one process counts for itself")
}

// validateDatabase says of the address no more than its scheme: a password may
// stand in it.
func validateDatabase(address string) error {
	scheme, _, found := strings.Cut(address, "://")
	switch {
	case address == "" || found && (scheme == "postgres" || scheme == "postgresql"):
		return nil
	case found && len(scheme) < 20 && strings.IndexFunc(scheme, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) < 0:
		return fmt.Errorf("database is a %s:// address, and only postgres:// is known; leave it out for SQLite in the data folder", scheme)
	}
	return errors.New("database must be an address such as postgres://USER:PASSWORD@HOST:5432/NAME; leave it out for SQLite in the data folder")
}

func validateListen(field, listen string) error {
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("%s must be host:port, such as 127.0.0.1:8080, and is %q", field, listen)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%s: the port must be between 0 and 65535, and is %q", field, port)
	}
	return nil
}

func oneOf(field, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s must be %s, and is %q", field, strings.Join(allowed, ", "), value)
}

// between refuses what is below low or above high.
func between[T int | Size](field string, value, low, high T) error {
	switch {
	case value < low:
		return fmt.Errorf("%s must be at least %v, and is %v", field, low, value)
	case value > high:
		return fmt.Errorf("%s must be at most %v, and is %v", field, high, value)
	}
	return nil
}

func duration(field string, value, low, high time.Duration) error {
	switch {
	case value < low:
		return fmt.Errorf("%s must be at least %s, and is %s", field, low, value)
	case value > high:
		return fmt.Errorf("%s must be at most %s, and is %s", field, high, value)
	}
	return nil
}
