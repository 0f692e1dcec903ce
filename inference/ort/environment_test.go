package ort

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOptionsValidateNamesTheField(t *testing.T) {
	t.Parallel()
	if err := DefaultOptions().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for field, spoil := range map[string]func(*Options){
		"provider":   func(o *Options) { o.Provider = "tpu" },
		"sessions":   func(o *Options) { o.Sessions = -1 },
		"threads":    func(o *Options) { o.IntraOpThreads = -1 },
		"device":     func(o *Options) { o.Devices = []int{0, -1} },
		"GPU memory": func(o *Options) { o.GPUMemoryLimit = -1 },
		"logger":     func(o *Options) { o.Logger = nil },
	} {
		opts := DefaultOptions()
		spoil(&opts)
		if err := opts.Validate(); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestSharedUsesTheCores: threads without sessions left these at a quarter of the
// cores, so that eight threads were 32 on sixteen cores, and one thread left one of two
// cores idle.
func TestSharedUsesTheCores(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		opts              Options
		provider          Provider
		cores             int
		sessions, threads int
	}{
		"one core":        {Options{}, CPU, 1, 1, 1},
		"two cores":       {Options{}, CPU, 2, 1, 2},
		"sixteen cores":   {Options{}, CPU, 16, 4, 4},
		"given sessions":  {Options{Sessions: 8}, CPU, 16, 8, 2},
		"both given":      {Options{Sessions: 3, IntraOpThreads: 5}, CPU, 4, 3, 5},
		"given threads":   {Options{IntraOpThreads: 8}, CPU, 16, 2, 8},
		"one thread":      {Options{IntraOpThreads: 1}, CPU, 2, 2, 1},
		"too many":        {Options{IntraOpThreads: 5}, CPU, 4, 1, 5},
		"more than cores": {Options{Sessions: 8}, CPU, 2, 8, 1},
		"CUDA":            {Options{}, CUDA, 16, 2, 1},
		"CUDA, threads":   {Options{IntraOpThreads: 2}, CUDA, 16, 2, 2},
		"CUDA, sessions":  {Options{Sessions: 3}, CUDA, 16, 3, 1},
	}
	for name, tc := range cases {
		got := tc.opts.shared(tc.provider, tc.cores)
		if got.Sessions != tc.sessions || got.IntraOpThreads != tc.threads {
			t.Errorf("%s: %d sessions of %d threads, want %d of %d",
				name, got.Sessions, got.IntraOpThreads, tc.sessions, tc.threads)
		}
	}
	if got := (Options{GPUMemoryLimit: 6 << 30}).shared(CUDA, 16).GPUMemoryLimit; got != 3<<30 {
		t.Errorf("each of two sessions may take %d bytes of 6 GiB", got)
	}
}

func TestFindLibraryTakesWhatIsNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "libonnxruntime.so")
	if _, err := FindLibrary(path, CPU); !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), path) {
		t.Errorf("an absent file gave %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := FindLibrary(path, CPU); err != nil || got != path {
		t.Errorf("found %s, %v, want %s", got, err, path)
	}
	if _, err := FindLibrary(filepath.Dir(path), CPU); !errors.Is(err, ErrNoLibrary) {
		t.Errorf("a folder gave %v", err)
	}
}

func TestFindLibraryPrefersTheBuildOfTheProvider(t *testing.T) {
	t.Parallel()
	gpu := "/c/deepfaked/onnxruntime-gpu/" + Version + "/" + libraryName
	cpu := "/c/deepfaked/onnxruntime/" + Version + "/" + libraryName
	beside := "/b/lib/" + libraryName
	for provider, want := range map[Provider][]string{
		CPU: {cpu, gpu, beside}, CUDA: {gpu, cpu, beside}, Auto: {gpu, cpu, beside},
	} {
		if got := places(provider, "/c", "/b/lib"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", provider, got, want)
		}
	}
	if got := places(CPU, "", "/b/lib"); !slices.Equal(got, []string{beside}) {
		t.Errorf("without a cache folder: %v", got)
	}
}

// TestFindLibraryLooksIntoTheCache holds the place that scripts/setup fills.
func TestFindLibraryLooksIntoTheCache(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	path := filepath.Join(cache, "deepfaked", "onnxruntime", Version, libraryName)
	if _, err := FindLibrary("", CPU); !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), path) {
		t.Errorf("an empty cache gave %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := FindLibrary("", CPU); err != nil || got != path {
		t.Errorf("found %s, %v, want %s", got, err, path)
	}
}

// A service account whose home is /dev/null did not find the library beside the
// executable: the cache folder that could not be looked into ended the search.
func TestFindLibraryLooksFurther(t *testing.T) {
	t.Parallel()
	beside := filepath.Join(t.TempDir(), libraryName)
	candidates := []string{"/dev/null/.cache/" + libraryName, beside}
	_, err := firstFile(candidates)
	if !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), "(not a directory), "+beside) {
		t.Errorf("without any: %v", err)
	}
	if err := os.WriteFile(beside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := firstFile(candidates); err != nil || got != beside {
		t.Errorf("found %s, %v, want %s", got, err, beside)
	}
}

func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{
		Version: true, "1.29.0": true, "1.40.2": true, "1.32.0-dev": true,
		"1.28.9": false, "2.0.0": false, "": false, "1.31": false, "1.x.1": false,
	} {
		if err := checkVersion(version); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func TestOpenSaysWhatIsWrongWithTheLibrary(t *testing.T) {
	opts := Options{Provider: CPU, Logger: slog.New(slog.DiscardHandler)}
	opts.Library = filepath.Join(t.TempDir(), "libonnxruntime.so")
	_, err := Open(opts)
	if !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), "make setup") {
		t.Errorf("an absent library gave %v", err)
	}
	if err := os.WriteFile(opts.Library, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = Open(opts); err == nil || !strings.Contains(err.Error(), opts.Library) {
		t.Errorf("a damaged library gave %v, want an error that names it", err)
	}
}

func TestOpenIsOncePerProcess(t *testing.T) {
	env := openEnvironment(t, nil)
	if _, err := Open(env.opts); !errors.Is(err, ErrOpen) {
		t.Fatalf("a second environment gave %v, want ErrOpen", err)
	}
	for range 2 {
		if err := env.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := env.NewSession(bytesModel(t), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("a session after Close gave %v, want ErrClosed", err)
	}
	again := openEnvironment(t, nil)
	checkRun(t, newTestSession(t, again, bytesModel(t), 1), 1, 7)
}

// TestAGPUNeverBecomesTheCPU runs where the library or the machine lacks it; where
// both have it, it checks the choice.
func TestAGPUNeverBecomesTheCPU(t *testing.T) {
	for _, provider := range []Provider{CUDA, TensorRT} {
		t.Run(string(provider), func(t *testing.T) { neverCPU(t, provider) })
	}
}

func neverCPU(t *testing.T, provider Provider) {
	t.Helper()
	library := openEnvironment(t, nil)
	path := library.Library()
	if err := library.Close(); err != nil {
		t.Fatal(err)
	}
	env, err := Open(Options{Provider: provider, Library: path, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		defer env.Close()
		if env.Provider() != provider {
			t.Errorf("provider is %s", env.Provider())
		}
		return
	}
	if !strings.Contains(err.Error(), "provider "+string(provider)+" was asked for") || !strings.Contains(err.Error(), "device 0") {
		t.Errorf("error is %v, want one that names the provider", err)
	}
	// The failure left nothing behind: the library loads again.
	openEnvironment(t, nil)
}

func TestAutoLogsItsChoice(t *testing.T) {
	var log bytes.Buffer
	env := openEnvironment(t, func(o *Options) {
		o.Provider = Auto
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	if env.Provider() == Auto {
		t.Error("the environment did not settle on a provider")
	}
	if !strings.Contains(log.String(), "provider="+string(env.Provider())) {
		t.Errorf("the log does not name %s: %s", env.Provider(), &log)
	}
	checkRun(t, newTestSession(t, env, floatsModel(t), 2), 2, 3)
}
