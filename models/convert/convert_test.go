package convert

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// scripts stand for the real ones: they need no package, and copy a file.
func scripts() fstest.MapFS {
	return fstest.MapFS{
		"requirements.txt": {Data: []byte("# none\n")},
		"__init__.py":      {},
		"embed.go":         {Data: []byte("package convert")},
		"data/words.txt":   {Data: []byte("converted ")},
		"__main__.py": {Data: []byte(`import pathlib, sys
_, name, _, source, _, out = sys.argv
if name == "bad":
    print("a warning", file=sys.stderr)
    sys.exit("The weights do not fit.")
if name == "crash":
    raise KeyError("layer7")
here = pathlib.Path(__file__).parent
if (here / "embed.go").exists() or sys.prefix == sys.base_prefix:
    sys.exit("wrong surroundings")
pathlib.Path(out).mkdir()
words = (here / "data" / "words.txt").read_text()
(pathlib.Path(out) / "model.onnx").write_text(words + (pathlib.Path(source) / "weights").read_text())
`)},
	}
}

// cache is the folder of an environment that the tests share: making one takes
// seconds.
var cache = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "deepfaked-convert-test-") })

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := cache(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

func options(t *testing.T) Options {
	t.Helper()
	if exec.CommandContext(t.Context(), "python3", "-c", "import venv, ensurepip").Run() != nil {
		t.Skip("python3 with venv is not installed here")
	}
	dir, err := cache()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Scripts: scripts(), Cache: dir, Python: "python3", Log: &strings.Builder{}}
}

func TestRun(t *testing.T) { //nolint:paralleltest // the environment is made once
	opts := options(t)
	source, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(filepath.Join(source, "weights"), []byte("weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), "good", source, out, opts); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(out, "model.onnx"))
	if err != nil || string(got) != "converted weights" {
		t.Errorf("wrote %q, %v", got, err)
	}
	opts.Python = "there is none any more"
	for name, want := range map[string]string{"bad": "convert bad: The weights do not fit.", "crash": "convert crash: KeyError: 'layer7'"} {
		if err := Run(t.Context(), name, source, out, opts); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(opts.Cache, ".making-*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	base := Options{Scripts: scripts(), Cache: t.TempDir(), Python: "python3", Log: &strings.Builder{}}
	without := scripts()
	delete(without, requirements)
	for name, test := range map[string]struct {
		spoil func(*Options)
		want  string
	}{
		"no Python":   {func(o *Options) { o.Python = "/nonexistent/python3" }, "python3-venv"},
		"no venv":     {func(o *Options) { o.Python = "false" }, "install its venv module"},
		"no scripts":  {func(o *Options) { o.Scripts = without }, "built without"},
		"nothing set": {func(o *Options) { *o = Options{} }, "scripts must be set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := base
			test.spoil(&opts)
			if err := Run(t.Context(), "good", "a", "b", opts); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestRunIsCancelled(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.Cache = t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, "good", "a", "b", opts); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}
