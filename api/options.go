package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/job"
	"deepfaked/internal/report"
	"deepfaked/internal/spool"
	"deepfaked/models"
)

// Detector judges one file; *inference.Detector does, and says what it promises.
type Detector interface {
	Detect(ctx context.Context, r inference.Request) (inference.Result, error)
}

// Accounts knows who may use the service and keeps their books; *account.Ledger
// is one, and says what each method promises.
type Accounts interface {
	Authenticate(ctx context.Context, bearerToken string) (account.Account, error)
	Check(ctx context.Context, a account.Account) error
	Reserve(ctx context.Context, a account.Account, s account.Submission) error
	Settle(ctx context.Context, id string, o account.Outcome) (account.Detection, error)
	Release(ctx context.Context, id string) error
	Withdraw(ctx context.Context, id string) error
	Detection(ctx context.Context, a account.Account, id string) (account.Detection, error)
	Usage(ctx context.Context, a account.Account) (account.Usage, error)
}

// Limiter counts a request for key, of which limit are allowed in a window.
type Limiter interface {
	Allow(key string, limit int) account.Decision
}

// Jobs accepts submissions whose clients don't wait; *job.Runner does, and says
// what it promises. The file stays the caller's to close.
type Jobs interface {
	Submit(ctx context.Context, a account.Account, s account.Submission, t job.Task) error
}

// Options is what a Server is made of. DefaultOptions fills in all but the
// dependencies.
type Options struct {
	Detector  Detector
	Accounts  Accounts
	Limiter   Limiter // of accounts
	Addresses Limiter // of requests without a valid key; apart, so that a flood of addresses can't push accounts out
	Jobs      Jobs
	Spool     *spool.Spool
	Logger    *slog.Logger
	Models    func() models.InUse // shown by /v1/models
	Observer  Observer            // may be nil
	Signer    *report.Signer      // of reports; nil: they are not signed
	Now       func() time.Time    // the clock of the books

	Listen         string   // address; port 0 lets the system choose
	TrustedProxies []string // addresses and networks whose X-Forwarded-For is believed

	FileBytes         int64         // largest file
	FormBytes         int64         // what a body may hold besides the file
	Uploads           int           // bodies received at the same time
	UploadsPerAccount int           // of one account, among them
	UploadRetry       time.Duration // told to a client when there are that many
	AddressPerMinute  int           // requests without a valid key, by address
	SyncDeadline      time.Duration // for an analysis that a client waits for
	Drain             time.Duration // for requests to finish once Serve's context ends
	Grace             time.Duration // for those that did not, to stop and say so
	Pace              Pace          // of uploads

	ReadHeaderTimeout time.Duration
	Connections       int // open at the same time, and no more than half of the descriptors that the process may have

	// ConnectionsPerAddress is how many of them one address has. Trusted proxies and
	// what runs on the same machine have as many as there are.
	ConnectionsPerAddress int
}

// What is alike for every server.
const (
	idleTimeout  = 2 * time.Minute  // of a connection between requests
	writeTimeout = 30 * time.Second // of one answer
	headerBytes  = 60 << 10         // of a request; net/http lets 4 KiB more pass
	pollAfter    = time.Second      // told to a client that polls, or longer by its plan and the job's age
	longestPoll  = 30 * time.Second // by a job's age
)

// DefaultOptions are the contract's limits and timeouts for the open internet.
func DefaultOptions() Options {
	return Options{
		Now:    time.Now,
		Listen: "127.0.0.1:8080", FileBytes: 100 << 20, FormBytes: 1 << 20,
		Uploads: 64, UploadsPerAccount: 16, UploadRetry: 5 * time.Second, AddressPerMinute: 60,
		SyncDeadline: 2 * time.Minute, Drain: 30 * time.Second, Grace: 5 * time.Second,
		ReadHeaderTimeout: 10 * time.Second, Connections: 4096, ConnectionsPerAddress: 512,
		Pace: Pace{ // lets 100 MiB take 54 minutes, and no client stall
			Idle: 30 * time.Second, Grace: 30 * time.Second, Rate: 32 << 10,
			LingerTime: 30 * time.Second, LingerIdle: 5 * time.Second, LingerBytes: 256 << 20,
		},
	}
}

// Validate names the first field that is missing or makes no sense.
func (o Options) Validate() error {
	if o.Detector == nil || o.Accounts == nil || o.Limiter == nil || o.Addresses == nil || o.Models == nil || o.Jobs == nil || o.Spool == nil || o.Logger == nil || o.Now == nil {
		return errors.New("api: detector, accounts, limiter, addresses, models, jobs, spool, logger and clock must be set")
	}
	for _, field := range []struct {
		name  string
		value int64
	}{
		{"file bytes", o.FileBytes}, {"form bytes", o.FormBytes}, {"uploads", int64(o.Uploads)},
		{"uploads per account", int64(o.UploadsPerAccount)},
		{"upload retry", int64(o.UploadRetry)}, {"address per minute", int64(o.AddressPerMinute)},
		{"sync deadline", int64(o.SyncDeadline)}, {"grace", int64(o.Grace)}, {"read header timeout", int64(o.ReadHeaderTimeout)},
		{"connections", int64(o.Connections)}, {"connections per address", int64(o.ConnectionsPerAddress)},
	} {
		if field.value <= 0 {
			return fmt.Errorf("api: %s must be positive", field.name)
		}
	}
	if o.Drain < 0 {
		return errors.New("api: drain must not be negative")
	}
	return o.Pace.Validate()
}
