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
	Listen      string   `yaml:"listen" comment:"host:port; port 0 chooses a free one"`
	Admin       string   `yaml:"admin" comment:"host:port of metrics, probes and profiles; empty: none"`
	Data        string   `yaml:"data" comment:"folder of the database, of added models and of temporary files"`
	Provider    string   `yaml:"provider" comment:"auto, cpu, cuda or tensorrt"`
	Models      []string `yaml:"models" comment:"folders of models, besides those built in and added"`
	Weights     string   `yaml:"weights" comment:"folder of the weights of built-in models, which is looked in before weights in the data folder and where set-up puts them; empty: none"`
	Database    string   `yaml:"database" comment:"postgres://… of the database that several processes work on; empty: SQLite in the data folder"`
	Uploads     string   `yaml:"uploads" comment:"where uploads of jobs wait: file:// is the data folder, file:///DIR another one, and s3://, gs:// and azblob:// are buckets"`
	Redis       string   `yaml:"redis" comment:"redis://… of the Redis that several processes count requests in; empty: each counts its own"`
	ReportKey   string   `yaml:"report_key" comment:"file with the private key (Ed25519, PEM) that signs reports; empty: one that the first process makes and all share by the database"`
	ONNXRuntime string   `yaml:"onnxruntime" comment:"path of the shared library; empty: where set-up put it"`

	Prior float64 `yaml:"prior" comment:"share of fakes expected among what is judged"`

	Inference   Inference         `yaml:"inference" comment:"sessions of ONNX Runtime, and who may wait for them"`
	Decoder     Decoder           `yaml:"decoder" comment:"processes that parse media"`
	Limits      preprocess.Limits `yaml:"limits" comment:"what a file may be, and what is taken from it"`
	Upload      Upload            `yaml:"upload" comment:"what a client sends"`
	Jobs        Jobs              `yaml:"jobs" comment:"asynchronous work"`
	Plans       Plans             `yaml:"plans" comment:"what an account may use"`
	Anonymous   Anonymous         `yaml:"unauthenticated" comment:"requests without a valid key"`
	Retention   Retention         `yaml:"retention" comment:"how long results and their reports are kept"`
	Log         Log               `yaml:"log" comment:"what is logged, and how"`
	Deadline    time.Duration     `yaml:"deadline" comment:"longest analysis that a client waits for, from the end of its upload; at least 1s"`
	Drain       time.Duration     `yaml:"drain" comment:"how long what still runs may go on when the service is told to stop"`
	Proxies     []string          `yaml:"trusted_proxies" comment:"addresses or CIDR networks whose X-Forwarded-For is believed"`
	KeepUploads bool              `yaml:"keep_uploads" comment:"true keeps uploads in the data folder after their analysis"`
	Adopt       bool              `yaml:"-"` // takes the place of uploads whatever waits elsewhere; for one start, so not in a file
}

// Inference sizes the pool of ONNX Runtime sessions.
type Inference struct {
	Sessions  int           `yaml:"sessions" comment:"for each model, on each GPU; 0: measured at the start on a CPU, or as many as threads leave room for, 2 on a GPU"`
	Threads   int           `yaml:"threads" comment:"in one session; 0: chosen so that sessions times threads is the number of cores"`
	Precision string        `yaml:"precision" comment:"auto: in 8 bits on a CPU, in half precision or TF32 on a GPU, where they come out right; full, int8, fp16 or tf32"`
	Quality   string        `yaml:"quality" comment:"which of several built-in models of a task judges: best, whose weights set-up fetches, or fast; auto: best where its weights are there, else fast"`
	Devices   []int         `yaml:"devices" comment:"ids of the GPUs; none: the first"`
	GPUMemory Size          `yaml:"gpu_memory" comment:"of each GPU, for all sessions together; 0: as much as they want"`
	Wait      time.Duration `yaml:"wait" comment:"longest predicted wait of a file that a client waits for, while there are always others, at least 10ms; beyond it the client is told to come back"`
	Burst     time.Duration `yaml:"burst" comment:"the same, for as long as the line has not stood for longer than wait; at least wait"`
}

// Decoder bounds the processes that parse media.
type Decoder struct {
	Children    int           `yaml:"children" comment:"films and other files that may take long decoded at the same time, and one process more for the rest; 0: one for each core that sessions use, fewer where a limit of memory has no room for them"`
	Timeout     time.Duration `yaml:"timeout" comment:"wall clock for one file, at least 100ms"`
	Memory      Size          `yaml:"memory" comment:"address space of a child, at least 1536MiB; with less than 8GiB, AVIF near 64 megapixels is refused, below 6GiB other large pictures, too"`
	Confinement string        `yaml:"confinement" comment:"auto: by a filter of system calls, and by Landlock where the kernel has it; required: by both; off: by neither"`
}

// Upload bounds what a client sends.
type Upload struct {
	Size               Size          `yaml:"size" comment:"of the file"`
	Form               Size          `yaml:"form" comment:"of everything around it, at least 1KiB"`
	IdleTimeout        time.Duration `yaml:"idle_timeout" comment:"longest time without a byte, at least 100ms; then the client is cut off"`
	MinimumRate        Size          `yaml:"minimum_rate" comment:"in a second, over the whole body; 0: any"`
	Parallel           int           `yaml:"parallel" comment:"received at the same time; further ones are told to come back"`
	ParallelPerAccount int           `yaml:"parallel_per_account" comment:"of one account, among them"`
	Spool              Size          `yaml:"spool" comment:"what all uploads that wait or are analysed may hold together, at least upload.size; those of jobs leave a quarter of it to others"`
}

// Jobs bounds asynchronous work.
type Jobs struct {
	Workers  int           `yaml:"workers" comment:"jobs analysed at the same time, and a quarter as many films; by default four for each core"`
	Queue    int           `yaml:"queue" comment:"jobs waiting; further ones are told to come back"`
	Attempts int           `yaml:"attempts" comment:"of one job, before it fails"`
	Deadline time.Duration `yaml:"deadline" comment:"longest analysis, of one attempt, from when its turn has come; at least 1s"`
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
	RequestsPerMinute int `yaml:"requests_per_minute" comment:"for each address"`
}

// Retention says how long results are kept.
type Retention struct {
	Results  time.Duration `yaml:"results" comment:"after their completion, at least 1m"`
	Interval time.Duration `yaml:"interval" comment:"between two searches for what is due, at least 1s"`
}

// Log chooses what is logged and how.
type Log struct {
	Level  string `yaml:"level" comment:"debug, info, warn or error"`
	Format string `yaml:"format" comment:"json or text"`
}

// Default is what the contract and its decisions say; on the local address
// only. Its values are those of the packages that it configures, which a test
// holds it to: to import them all would make every reader of a file link them.
func Default() Config {
	plans := account.DefaultPlans()
	return Config{
		Listen: "127.0.0.1:8080", Data: "data", Uploads: "file://", Provider: "auto", Prior: 0.5,
		Inference: Inference{Precision: "auto", Quality: "auto", Wait: time.Second, Burst: 10 * time.Second},
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
