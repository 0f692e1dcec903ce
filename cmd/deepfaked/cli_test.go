package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// commands are those that people call.
func commands() []string {
	return []string{"serve", "worker", "detect", "eval", "verify", "keys create", "keys list", "keys plan", "keys revoke", "models list", "models verify", "models schema", "models add", "models catalogue", "models pull"}
}

// TestHelpNamesEveryFlag: operators configure by flag or by environment, and
// learn from --help alone what there is and what holds otherwise.
func TestHelpNamesEveryFlag(t *testing.T) {
	t.Parallel()
	for _, name := range commands() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, flags, _ := strings.Cut(call(t, append(strings.Fields(name), "--help")...).ok(t), "Flags:")
			help := strings.Join(strings.Fields(flags), " ")
			for _, flag := range flagsOf(t, name) {
				if flag.Name == "help" || flag.Hidden {
					continue
				}
				variable := "DEEPFAKED_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
				assert.Equal(t, []string{variable}, flag.Envs, flag.Name)
				_, about, found := strings.Cut(help, "--"+flag.Name)
				require.True(t, found, "--%s is not in the help", flag.Name)
				about, _, found = strings.Cut(about, "($"+variable+")")
				require.True(t, found, "the help of --%s does not name %s", flag.Name, variable)
				assert.True(t, flag.Required || strings.Contains(about, "(default: "), "--%s has no default: %s", flag.Name, about)
				assert.NotContains(t, about, " --", "the help of --%s runs into the next flag's", flag.Name)
			}
		})
	}
}

func flagsOf(t *testing.T, command string) []*kong.Flag {
	t.Helper()
	parser, err := kong.New(&cli{}, kong.Vars(defaults()))
	require.NoError(t, err)
	node := parser.Model.Node
	for word := range strings.FieldsSeq(command) {
		for _, child := range node.Children {
			if child.Name == word {
				node = child
			}
		}
	}
	require.Equal(t, command, node.Path(), "no such command")
	return node.Flags
}

// TestDefaultsAreShownWhole: --help said that drain was "3", the seconds having
// been cut off as if they were those of 2m0s.
func TestDefaultsAreShownWhole(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		30 * time.Second: "30s", 2 * time.Minute: "2m", 90 * time.Second: "1m30s", 10 * time.Minute: "10m",
		time.Hour: "1h", 30 * time.Hour: "30h", 20 * time.Minute: "20m", time.Hour + 30*time.Second: "1h0m30s", 0: "0s",
	} {
		assert.Equal(t, want, short(d))
		back, err := time.ParseDuration(short(d))
		require.NoError(t, err)
		assert.Equal(t, d, back)
	}
	help := call(t, "serve", "--help").ok(t)
	for _, want := range []string{"(default: 30s)", "2m)", "127.0.0.1:8080)", "(default: data)", "auto)", "info)", "json)"} {
		assert.Contains(t, help, want)
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	config := func(text string) string { return write(t, "deepfaked.yaml", []byte(text)) }
	for name, test := range map[string]struct {
		args  []string
		words []string
	}{
		"command":            {[]string{"bogus"}, []string{"bogus", "deepfaked --help"}},
		"flag":               {[]string{"serve", "--liste", "x"}, []string{"--liste", "--listen", "deepfaked serve --help"}},
		"no subcommand":      {[]string{"keys"}, []string{"create", "revoke", "deepfaked keys --help"}},
		"no file":            {[]string{"detect"}, []string{"file", "deepfaked detect --help"}},
		"sensitivity":        {[]string{"detect", "--sensitivity", "extreme", "x.jpg"}, []string{"--sensitivity", "strict", "balanced", "sensitive", "extreme"}},
		"provider":           {[]string{"detect", "--provider", "tpu", "x.jpg"}, []string{"provider", "auto", "cuda", "tpu"}},
		"no account":         {[]string{"keys", "create", "--plan", "pro"}, []string{"--account"}},
		"no plan":            {[]string{"keys", "create", "--account", "a"}, []string{"--plan"}},
		"unknown plan":       {[]string{"keys", "create", "--account", "a", "--plan", "gold"}, []string{"gold", "free", "starter", "pro"}},
		"address":            {[]string{"serve", "--listen", "8080"}, []string{"listen", "8080", "host:port"}},
		"admin":              {[]string{"serve", "--admin", "9090"}, []string{"admin", "9090", "host:port"}},
		"redis":              {[]string{"serve", "--redis", "localhost"}, []string{"redis must be", "redis://USER:PASSWORD@HOST:6379/0"}},
		"uploads":            {[]string{"serve", "--uploads", "/var/uploads"}, []string{"uploads", "/var/uploads", "s3://BUCKET"}},
		"duration":           {[]string{"serve", "--drain", "5"}, []string{"--drain", "unit"}},
		"log level":          {[]string{"serve", "--log-level", "loud"}, []string{"log.level", "debug", "loud"}},
		"no such config":     {[]string{"serve", "--config", "/nonexistent.yaml"}, []string{"/nonexistent.yaml"}},
		"config value":       {[]string{"serve", "--config", config("plans: {pro: {scans: -1}}\n")}, []string{"pro", "scans"}},
		"config size":        {[]string{"serve", "--config", config("upload: {size: 0}\n")}, []string{"upload.size"}},
		"config type":        {[]string{"serve", "--config", config("upload:\n  size: big\n")}, []string{"upload.size", "big", "[2:9]"}},
		"config field":       {[]string{"detect", "--config", config("limit: 3\n"), "x.jpg"}, []string{"limit", "[1:1]"}},
		"config of keys":     {[]string{"keys", "list", "--config", config("drain: soon\n")}, []string{"drain", "soon"}},
		"config of models":   {[]string{"models", "list", "--config", config("limits: {side: 3}\n")}, []string{"limits", "side"}},
		"decoders, too many": {[]string{"detect", "--decoders", "9999", "x.jpg"}, []string{"decoder.children", "1024"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := call(t, test.args...)
			s.refused(t, exitUsage, test.words...)
			assert.Empty(t, s.out)
		})
	}
}

// TestNothingToDo: the bare name is a question, and so answered with the help.
func TestNothingToDo(t *testing.T) {
	t.Parallel()
	out := call(t).ok(t)
	for _, name := range commands() {
		assert.Contains(t, out, name)
	}
	assert.NotContains(t, out, "decode", "what the service alone calls is not for people")
}

// TestAFlagStandsForAWrongAddress: a good --listen was refused with what the file says,
// which was checked before the flag was laid over it.
func TestAFlagStandsForAWrongAddress(t *testing.T) {
	t.Parallel()
	file := write(t, "deepfaked.yaml", []byte("listen: nonsense\n"))
	assert.Contains(t, call(t, "config", "--config", file, "--listen", "127.0.0.1:9000").ok(t), "127.0.0.1:9000")
	call(t, "config", "--config", file).refused(t, exitUsage, "nonsense", "host:port")
}

// TestAddressInUse: it was said twice that another program had the address ("listen on …:
// listen tcp …: bind: address already in use"), and not what to do.
func TestAddressInUse(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	address := taken.Addr().String()
	for flag, args := range map[string][]string{
		"--listen": {"serve", "--listen", address},
		"--admin":  {"serve", "--listen", "127.0.0.1:0", "--admin", address},
	} {
		s := call(t, append(args, "--data", t.TempDir())...)
		s.refused(t, exitFailed, "deepfaked: "+address+" is already in use: stop ", "name another address with "+flag+"\n")
	}
}

// TestEnvironment: variables stand for flags, and flags win.
func TestEnvironment(t *testing.T) {
	config := write(t, "deepfaked.yaml", []byte("listen: 127.0.0.1:1\ndrain: 7s\ndata: from-file\n"))
	for name, value := range map[string]string{
		"DEEPFAKED_CONFIG": config, "DEEPFAKED_LISTEN": "127.0.0.1:2", "DEEPFAKED_DATA": "from-environment",
		"DEEPFAKED_MODELS": "a:b", "DEEPFAKED_DECODERS": "3", "DEEPFAKED_KEEP_UPLOADS": "true",
		"DEEPFAKED_LOG_LEVEL": "warn", "DEEPFAKED_DEADLINE": "9s",
	} {
		t.Setenv(name, value)
	}
	chosen, _, done := parse([]string{"serve", "--data", "from-flag", "--log-level", "error"}, streams{io.Discard, io.Discard})
	require.False(t, done)
	cfg, err := chosen.(*serveCommand).settings()
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1:2", cfg.Listen, "environment before file")
	assert.Equal(t, "from-flag", cfg.Data, "flag before environment")
	assert.Equal(t, "error", cfg.Log.Level)
	assert.Equal(t, 7*time.Second, cfg.Drain, "file before default")
	assert.Equal(t, 9*time.Second, cfg.Deadline)
	assert.Equal(t, []string{"a", "b"}, cfg.Models)
	assert.Equal(t, 3, cfg.Decoder.Children)
	assert.True(t, cfg.KeepUploads)
	assert.Equal(t, "json", cfg.Log.Format, "default")
}

// TestConfigShowsNoPassword: `config` printed the passwords of the database and of Redis, which people paste into tickets.
func TestConfigShowsNoPassword(t *testing.T) {
	t.Parallel()
	out := call(t, "config", "--database", "postgres://df:hunter2@db:5432/df?sslmode=disable", "--redis", "redis://:hunter3@cache:6379/1").ok(t)
	assert.NotContains(t, out, "hunter")
	assert.Contains(t, out, "postgres://df:xxxxx@db:5432/df")
	assert.Contains(t, out, "redis://:xxxxx@cache:6379/1")
}
