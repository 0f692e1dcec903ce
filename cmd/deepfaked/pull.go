package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"deepfaked/internal/config"
	"deepfaked/internal/filename"
	"deepfaked/models"
	"deepfaked/models/catalogue"
	"deepfaked/models/convert"
	"deepfaked/models/fetch"
	scripts "deepfaked/scripts/convert"
)

type modelsPull struct {
	installFlags
	Mirror string `env:"DEEPFAKED_MIRROR" placeholder:"DIR" help:"Take the files from this folder instead of their addresses (default: none)."`
	Accept bool   `name:"accept-licence" env:"DEEPFAKED_ACCEPT_LICENCE" help:"Accept the licence that is shown, without being asked (default: you are asked)."`
	Name   string `arg:"" help:"Name in the catalogue, or of a built-in model whose weights are fetched apart."`
}

// puller gets published detectors. Tests put other things in its place.
type puller struct {
	entries []catalogue.Entry
	builtin []*models.Model
	fetch   fetch.Options
	cache   string                          // folder of downloads and of Python environments
	check   func(ctx context.Context) error // says what convert would be missing
	convert func(ctx context.Context, name, source, out string) error
	ask     func(question string) (yes bool, err error)
}

// python is the interpreter that downloads packages and converts.
const python = "python3"

// errNobody says that there is nobody to ask.
var errNobody = errors.New("nobody can be asked")

func (c *modelsPull) run(ctx context.Context, to streams) error {
	all, err := catalogue.All()
	if err != nil {
		return err
	}
	home, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find the cache folder: %w", err)
	}
	builtin, err := models.Builtin()
	if err != nil {
		return err
	}
	p := puller{entries: all, builtin: builtin, fetch: fetch.DefaultOptions(), cache: filepath.Join(home, "deepfaked")}
	p.fetch.Limit = models.MaxModelBytes
	defer p.fetch.Client.CloseIdleConnections()
	opts := convert.Options{Scripts: scripts.Files, Cache: p.cache, Python: python, Log: to.err}
	p.check = func(ctx context.Context) error { return convert.Check(ctx, opts) }
	p.convert = func(ctx context.Context, name, source, out string) error {
		return convert.Run(ctx, name, source, out, opts)
	}
	p.ask = func(question string) (bool, error) { return ask(to.err, question) }
	return p.pull(ctx, c, to)
}

// ask waits for a person's answer on the terminal.
func ask(w io.Writer, question string) (yes bool, err error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return false, errNobody
	}
	_, _ = fmt.Fprintf(w, "%s [y/N] ", question)
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

func (p puller) pull(ctx context.Context, c *modelsPull, to streams) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	if m := p.withPackage(c.Name); m != nil {
		return p.pullWeights(ctx, cfg, m, c, to)
	}
	entry, err := catalogue.Find(p.entries, c.Name)
	if err != nil {
		return err
	}
	if err := entry.Usable(); err != nil {
		return err
	}
	if _, err := others(cfg, entry.Name); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(addedModels(cfg), entry.Name)); err == nil && !c.Replace {
		return fmt.Errorf("the model %s is in %s already: --replace gets it again", entry.Name, filename.Shown(addedModels(cfg)))
	}
	if err := describe(to.out, entry); err != nil {
		return err
	}
	if err := p.accepted(c, entry); err != nil {
		return err
	}
	return interruptible(ctx, func(ctx context.Context) error { return p.bring(ctx, cfg, entry, c, to) })
}

// interruptible does what is ended by signals. It is for after all questions: one that nobody wants
// to answer must end with the program.
func interruptible(ctx context.Context, do func(context.Context) error) error {
	signals := interrupts()
	ctx, stop := signal.NotifyContext(ctx, signals...)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // a second signal ends the process at once
	if slices.Contains(signals, os.Signal(syscall.SIGHUP)) {
		// But for this one: the shell of a terminal that is closed sends it, and the system again when the shell ends.
		hung := make(chan os.Signal, 1)
		signal.Notify(hung, syscall.SIGHUP)
		defer signal.Stop(hung)
	}
	err := do(ctx)
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// interrupts are the signals that end a pull. The one of a terminal that is closed is
// among them, unless whoever started it wants it ignored, as nohup does.
func interrupts() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// bring gets the files, makes a model of them and installs it. The files are
// kept until that has worked. Another pull of the model meanwhile is refused.
func (p puller) bring(ctx context.Context, cfg config.Config, e catalogue.Entry, c *modelsPull, to streams) error {
	release, err := claim(p.cache, e.Name)
	if err != nil {
		return err
	}
	defer func() { _ = release() }()
	if err := p.prepared(ctx, cfg, e); err != nil {
		return err
	}
	source := filepath.Join(p.cache, "downloads", e.Name)
	if err := p.get(ctx, e, c.Mirror, source, to); err != nil {
		return err
	}
	if err := p.put(ctx, cfg, e, source, c.Replace, to); err != nil {
		return err
	}
	return os.RemoveAll(source)
}

// prepared finds out before a download what would be in the way of the model after it.
func (p puller) prepared(ctx context.Context, cfg config.Config, e catalogue.Entry) error {
	if e.Adapt == nil {
		if err := p.check(ctx); err != nil {
			return err
		}
	}
	env, err := openRuntime(cfg, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return errors.Join(env.Close(), models.Prepare(addedModels(cfg)))
}

// accepted asks whether the licence is accepted, unless the flag says so.
func (p puller) accepted(c *modelsPull, e catalogue.Entry) error {
	if c.Accept {
		return nil
	}
	yes, err := p.ask(fmt.Sprintf("Do you accept the licence %s?", e.Licence.Name))
	switch {
	case errors.Is(err, errNobody):
		return fmt.Errorf("the licence %s of %s must be accepted, and no terminal is there to ask: read %s and pass --accept-licence", e.Licence.Name, e.Name, e.Licence.URL)
	case err != nil:
		return err
	case !yes:
		return fmt.Errorf("the licence of %s was not accepted, and nothing was downloaded", e.Name)
	}
	return nil
}

// get brings every file of the entry to the folder source.
func (p puller) get(ctx context.Context, e catalogue.Entry, mirror, source string, to streams) error {
	if err := os.MkdirAll(source, 0o750); err != nil {
		return fmt.Errorf("make the download folder: %w", err)
	}
	for _, f := range e.Files {
		file := fetch.File{URL: f.URL, SHA256: f.SHA256, Bytes: f.Bytes}
		opts, bar := p.fetch, downloadBar(to.err, f)
		opts.Progress = func(n int64) { _ = bar.Set64(n) }
		var err error
		if mirror == "" {
			err = fetch.Download(ctx, file, filepath.Join(source, f.Name), opts)
		} else {
			err = fetch.Copy(file, filepath.Join(mirror, filepath.FromSlash(f.Mirror)), filepath.Join(source, f.Name), opts)
		}
		_ = bar.Exit()
		if errors.Is(err, fetch.ErrNoNetwork) {
			return fmt.Errorf("%w; --mirror DIR names a folder that has it as %s", err, f.Mirror)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// downloadBar shows how far a file is, where a person can see it.
func downloadBar(w io.Writer, f catalogue.File) *progressbar.ProgressBar {
	total := f.Bytes
	if total == 0 {
		total = -1 // not known: the bar counts
	}
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return progressbar.DefaultBytesSilent(total)
	}
	return progressbar.NewOptions64(total, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(f.Name),
		progressbar.OptionShowBytes(true), progressbar.OptionClearOnFinish())
}

// put converts or adapts the files, checks what comes out and installs it.
func (p puller) put(ctx context.Context, cfg config.Config, e catalogue.Entry, source string, replace bool, to streams) error {
	work, err := os.MkdirTemp("", "deepfaked-pull-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	out := filepath.Join(work, e.Name)
	if e.Adapt != nil {
		err = adaptModel(cfg, e, source, out)
	} else {
		err = p.convert(ctx, e.Convert, source, out)
	}
	if err != nil {
		return err
	}
	if err := copyLicences(source, out); err != nil {
		return err
	}
	candidate, err := models.ReadCandidate(out)
	if err != nil {
		return fmt.Errorf("what the conversion made can't be used: %w", err)
	}
	if candidate.Card.Name != e.Name {
		return fmt.Errorf("the conversion of %s made a model called %s", e.Name, candidate.Card.Name)
	}
	return install(cfg, candidate, replace, to)
}

// copyLicences keeps the licences with the model, as most of them ask for.
func copyLicences(source, out string) error {
	names, err := filepath.Glob(filepath.Join(source, "LICENSE*"))
	if err != nil {
		return err
	}
	texts := map[string][]byte{}
	for _, name := range names {
		if texts[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			return err
		}
	}
	return writeInto(out, texts)
}
