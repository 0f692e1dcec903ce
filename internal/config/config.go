package config

import (
	"runtime"
	"time"

	"deepfaked/internal/account"
	"deepfaked/preprocess"
)

// Config is the whole configuration of a service. The yaml names are those of
// the configuration file; messages name fields by them.
type Config struct {
	Listen      string   `yaml:"listen"`      // host:port; port 0 chooses a free one
	Admin       string   `yaml:"admin"`       // host:port of metrics, probes and profiles; empty: none
	Data        string   `yaml:"data"`        // folder of the database, of added models and of temporary files
	Provider    string   `yaml:"provider"`    // auto, cpu, cuda or tensorrt
	Models      []string `yaml:"models"`      // folders of models, besides those built in and added
	Database    string   `yaml:"database"`    // postgres://… of the database that several processes work on; empty: SQLite in the data folder
	Uploads     string   `yaml:"uploads"`     // where uploads of jobs wait: file:// is the data folder, file:///DIR another one, and s3://, gs:// and azblob:// are buckets
	Redis       string   `yaml:"redis"`       // redis://… of the Redis that several processes count requests in; empty: each counts its own
	ONNXRuntime string   `yaml:"onnxruntime"` // path of the shared library; empty: where set-up put it

	Prior float64 `yaml:"prior"` // share of fakes expected among what is judged

	Inference   Inference         `yaml:"inference"`
	Decoder     Decoder           `yaml:"decoder"`
	Limits      preprocess.Limits `yaml:"limits"`
	Upload      Upload            `yaml:"upload"`
	Jobs        Jobs              `yaml:"jobs"`
	Plans       Plans             `yaml:"plans"`
	Anonymous   Anonymous         `yaml:"unauthenticated"`
	Retention   Retention         `yaml:"retention"`
	Log         Log               `yaml:"log"`
	Deadline    time.Duration     `yaml:"deadline"`        // of an analysis that a client waits for, from the end of its upload
	Drain       time.Duration     `yaml:"drain"`           // for what runs when the service is told to stop
	Proxies     []string          `yaml:"trusted_proxies"` // addresses or CIDR networks whose X-Forwarded-For is believed
	KeepUploads bool              `yaml:"keep_uploads"`    // keeps uploads in the data folder after their analysis
	Adopt       bool              `yaml:"-"`               // takes the place of uploads whatever waits elsewhere; for one start, so not in a file
}

// Inference sizes the pool of ONNX Runtime sessions.
type Inference struct {
	Sessions  int           `yaml:"sessions"`   // for each model, on each GPU; 0: measured at the start on a CPU, or as many as threads leave room for, 2 on a GPU
	Threads   int           `yaml:"threads"`    // of one session; 0: chosen so that sessions times threads is the number of cores
	Precision string        `yaml:"precision"`  // auto: in 8 bits on a CPU, in half precision or TF32 on a GPU, where they come out right; full, int8, fp16 or tf32
	Devices   []int         `yaml:"devices"`    // ids of the GPUs; none: the first
	GPUMemory Size          `yaml:"gpu_memory"` // of each GPU, for all sessions together; 0: as much as they want
	Wait      time.Duration `yaml:"wait"`       // predicted, of a file that a client waits for, while there are always others; beyond it the client is told to come back
	Burst     time.Duration `yaml:"burst"`      // the same, for as long as the line has not stood for longer than wait
}

// Decoder bounds the processes that parse media.
type Decoder struct {
	Children    int           `yaml:"children"`    // at the same time; 0: one for each core that sessions use
	Timeout     time.Duration `yaml:"timeout"`     // wall clock for one file
	Memory      Size          `yaml:"memory"`      // address space of a child
	Confinement string        `yaml:"confinement"` // auto: by a filter of system calls, and by Landlock where the kernel has it; required: by both; off: by neither
}

// Upload bounds what a client sends.
type Upload struct {
	Size               Size          `yaml:"size"`                 // of the file
	Form               Size          `yaml:"form"`                 // of everything around it
	IdleTimeout        time.Duration `yaml:"idle_timeout"`         // without a byte, then the client is cut off
	MinimumRate        Size          `yaml:"minimum_rate"`         // bytes in a second, over the whole body; 0: any
	Parallel           int           `yaml:"parallel"`             // received at the same time; further ones are told to come back
	ParallelPerAccount int           `yaml:"parallel_per_account"` // of one account, among them
	Spool              Size          `yaml:"spool"`                // what all uploads that wait or are analysed may hold together
}

// Jobs bounds asynchronous work.
type Jobs struct {
	Workers  int           `yaml:"workers"`  // jobs analysed at the same time, and a quarter as many films; by default four for each core
	Queue    int           `yaml:"queue"`    // jobs waiting; further ones are told to come back
	Attempts int           `yaml:"attempts"` // of one job, before it fails
	Deadline time.Duration `yaml:"deadline"` // of one attempt, from when its turn has come
}

// Plans are the contract's plans.
type Plans struct {
	Free    account.Plan `yaml:"free"`
	Starter account.Plan `yaml:"starter"`
	Pro     account.Plan `yaml:"pro"`
}

// List gives the plans with their names.
func (p Plans) List() []account.Plan {
	p.Free.Name, p.Starter.Name, p.Pro.Name = "free", "starter", "pro"
	return []account.Plan{p.Free, p.Starter, p.Pro}
}

// Anonymous bounds requests without a valid key.
type Anonymous struct {
	RequestsPerMinute int `yaml:"requests_per_minute"` // for each address
}

// Retention says how long results are kept.
type Retention struct {
	Results  time.Duration `yaml:"results"`  // after their completion
	Interval time.Duration `yaml:"interval"` // between two searches for what is due
}

// Log chooses what is logged and how.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error
	Format string `yaml:"format"` // json or text
}

// Default is what the contract and its decisions say; on the local address
// only. Its values are those of the packages that it configures, which a test
// holds it to: to import them all would make every reader of a file link them.
func Default() Config {
	plans := account.DefaultPlans()
	return Config{
		Listen: "127.0.0.1:8080", Data: "data", Uploads: "file://", Provider: "auto", Prior: 0.5,
		Inference: Inference{Precision: "auto", Wait: time.Second, Burst: 10 * time.Second},
		Decoder:   Decoder{Timeout: time.Minute, Memory: 8 * GiB, Confinement: "auto"},
		Limits:    preprocess.DefaultLimits(),
		Upload: Upload{
			Size: 100 * MiB, Form: MiB, IdleTimeout: 30 * time.Second, MinimumRate: 32 * KiB,
			Parallel: 64, ParallelPerAccount: 16, Spool: 16 * GiB,
		},
		Jobs:      Jobs{Workers: min(4*runtime.GOMAXPROCS(0), 1024), Queue: 256, Attempts: 3, Deadline: 10 * time.Minute},
		Plans:     Plans{Free: plans[0], Starter: plans[1], Pro: plans[2]},
		Anonymous: Anonymous{RequestsPerMinute: 60},
		Retention: Retention{Results: 30 * 24 * time.Hour, Interval: time.Hour},
		Log:       Log{Level: "info", Format: "json"},
		Deadline:  2 * time.Minute,
		Drain:     30 * time.Second,
	}
}
