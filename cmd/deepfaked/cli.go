package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"deepfaked/internal/config"
)

const description = "Detects deepfakes in images, sound and video, on this machine alone."

// cli is the command line. Operators' scripts rely on its words.
type cli struct {
	Serve  serveCommand  `cmd:"" help:"Serve the HTTP interface."`
	Worker workerCommand `cmd:"" help:"Run jobs without serving HTTP, next to others on one PostgreSQL."`
	Detect detectCommand `cmd:"" help:"Judge files without a server."`
	Eval   evalCommand   `cmd:"" help:"Measure the detector on files whose truth is known, without a server."`
	Verify verifyCommand `cmd:"" help:"Check the signature of a report, and that it is about a file, without a server."`
	Keys   struct {
		Create keysCreate `cmd:"" help:"Make a key, and its account when it is new. Prints the key, once."`
		List   keysList   `cmd:"" help:"List accounts and keys."`
		Plan   keysPlan   `cmd:"" help:"Move an account to another plan, from its next request on."`
		Revoke keysRevoke `cmd:"" help:"Revoke a key."`
	} `cmd:"" help:"Administer API keys."`
	Models struct {
		List      modelsList      `cmd:"" help:"List the models that would be used, with what was measured."`
		Verify    modelsVerify    `cmd:"" help:"Check every model: card, checksum, shapes and self-test."`
		Bench     modelsBench     `cmd:"" help:"Measure how fast each model runs here, for each batch size."`
		Add       modelsAdd       `cmd:"" help:"Check a model folder and add it to the data folder, where the service finds it."`
		Catalogue modelsCatalogue `cmd:"" help:"List published detectors that pull can get."`
		Pull      modelsPull      `cmd:"" help:"Get a published detector: show its licence, download, convert, check and add it."`
		Schema    modelsSchema    `cmd:"" help:"Print the JSON Schema of a model's card.json."`
	} `cmd:"" help:"Look at models and bring more."`
	Config configCommand `cmd:"" help:"Print the configuration in force, as a YAML file that --config takes."`
	Decode decodeCommand `cmd:"" hidden:""`
	Health healthCommand `cmd:"" help:"Ask the service on this machine whether it is ready; exits with 1 when it is not."`

	Version versionFlag `help:"Print what this binary was built from."`
}

// Pointers tell a flag that was not given from one that was: the order is flag,
// environment, configuration file, default.

// configFlags choose the configuration.
type configFlags struct {
	Config string `env:"DEEPFAKED_CONFIG" placeholder:"FILE" help:"YAML file; flags and environment go before it (default: none)."`
}

// logFlags choose what is logged. Only the service logs.
type logFlags struct {
	Level  *string `env:"DEEPFAKED_LOG_LEVEL" placeholder:"LEVEL" help:"debug, info, warn or error (default: ${log_level})."`
	Format *string `env:"DEEPFAKED_LOG_FORMAT" placeholder:"FORMAT" help:"json or text (default: ${log_format})."`
}

// dataFlag names the data folder.
type dataFlag struct {
	Data *string `env:"DEEPFAKED_DATA" placeholder:"DIR" help:"Folder of the database, of added models and of temporary files (default: ${data})."`
}

// booksFlags name what the books are in.
type booksFlags struct {
	dataFlag
	Database *string `env:"DEEPFAKED_DATABASE" placeholder:"URL" help:"PostgreSQL database that several processes work on, postgres://USER:PASSWORD@HOST/NAME (default: SQLite in the data folder)."`
}

func (f booksFlags) lay(c *config.Config) {
	set(&c.Data, f.Data)
	set(&c.Database, f.Database)
}

// engineFlags choose what judges, and on what.
type engineFlags struct {
	runtimeFlags
	Sessions  *int    `env:"DEEPFAKED_SESSIONS" placeholder:"N" help:"ONNX Runtime sessions for each model (default: two on a GPU; on a CPU the service measures it at its start unless their threads are given, other commands take one for each four cores)."`
	Threads   *int    `env:"DEEPFAKED_THREADS" placeholder:"N" help:"Threads of a session (default: sessions times threads is the number of cores)."`
	Precision *string `env:"DEEPFAKED_PRECISION" placeholder:"NAME" help:"auto, full, int8, fp16 or tf32: models that have such variants run in 8 bits on a CPU and in half precision on a GPU, others there in TF32, where the self-test finds them right (default: ${precision})."`
	Quality   *string `env:"DEEPFAKED_QUALITY" placeholder:"NAME" help:"best, fast or auto: which of several built-in models of a task judges: the one that judges best, whose weights set-up fetches, or the one that takes the least time; auto is best where its weights are there, and fast elsewhere, where best fails (default: ${quality})."`
	Devices   []int   `env:"DEEPFAKED_DEVICES" sep:"," placeholder:"N" help:"GPUs to run on, by number, such as 0,1 (default: the first)."`
	Children  *int    `name:"decoders" env:"DEEPFAKED_DECODERS" placeholder:"N" help:"Decoder processes, beside one that films leave to the rest (default: one for each core that sessions use)."`
}

// priorFlag is of the commands that tell probabilities of single files.
type priorFlag struct {
	Prior *float64 `env:"DEEPFAKED_PRIOR" placeholder:"P" help:"Share of fakes expected among what is judged; moves the probabilities of reports, not verdicts or confidence (default: 0.5)."`
}

func (f priorFlag) lay(c *config.Config) { set(&c.Prior, f.Prior) }

func set[T any](field *T, flag *T) {
	if flag != nil {
		*field = *flag
	}
}

func (f configFlags) load() (config.Config, error) {
	c := config.Default()
	if f.Config != "" {
		var err error
		if c, err = config.Load(f.Config); err != nil {
			return c, usageError{err}
		}
	}
	return c, nil
}

// check validates the configuration once everything has been laid over it. What
// is wrong with it is the command line's fault, or that of the file it names.
func check(c config.Config) error {
	if err := c.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

func (f engineFlags) lay(c *config.Config) {
	f.runtimeFlags.lay(c)
	set(&c.Inference.Sessions, f.Sessions)
	set(&c.Inference.Threads, f.Threads)
	set(&c.Inference.Precision, f.Precision)
	set(&c.Inference.Quality, f.Quality)
	set(&c.Decoder.Children, f.Children)
	if len(f.Devices) > 0 {
		c.Inference.Devices = f.Devices
	}
}

// defaults are the values that --help shows, those of the configuration.
func defaults() kong.Vars {
	c := config.Default()
	return kong.Vars{
		"version": versionText(), "listen": c.Listen, "report_key": "one that the first process makes and all share by the database", "data": c.Data, "provider": c.Provider, "precision": c.Inference.Precision, "quality": c.Inference.Quality,
		"log_level": c.Log.Level, "log_format": c.Log.Format,
		"deadline": short(c.Deadline), "drain": short(c.Drain), "workers": strconv.Itoa(c.Jobs.Workers),
		"batch": fmt.Sprintf("%d on a CPU, %d on a GPU", maxBatch, gpuBatch),
	}
}

// short writes 2m0s as 2m, and leaves 30s alone.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
