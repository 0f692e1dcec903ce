package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// content is longer than the buffers on its way.
var content = bytes.Repeat([]byte("0123456789abcdef"), 64<<10)

func file(url string) File {
	sum := sha256.Sum256(content)
	return File{URL: url, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content))}
}

// serve answers with handle, and says how often it was asked and for which
// range last.
func serve(t *testing.T, handle http.HandlerFunc) (url string, asked *atomic.Int32, last *atomic.Value) {
	t.Helper()
	asked, last = &atomic.Int32{}, &atomic.Value{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		last.Store(r.Header.Get("Range"))
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/model.pth", asked, last
}

func options(t *testing.T) Options {
	t.Helper()
	opts := DefaultOptions()
	opts.Client = &http.Client{Transport: &http.Transport{DisableCompression: true}}
	t.Cleanup(opts.Client.CloseIdleConnections)
	return opts
}

// whole serves the file as a server that knows ranges does.
func whole(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "model.pth", time.Time{}, bytes.NewReader(content))
}

// cut hangs up in the middle of what it was asked for.
func cut(w http.ResponseWriter, r *http.Request) {
	half := httptest.NewRecorder()
	whole(half, r)
	for name := range half.Header() {
		w.Header().Set(name, half.Header().Get(name))
	}
	w.WriteHeader(half.Code)
	_, _ = w.Write(half.Body.Bytes()[:half.Body.Len()/2+1])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func checkContent(t *testing.T, path string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes came, %v", len(got), err)
	}
	if _, err := os.Stat(path + partSuffix); err == nil {
		t.Error("the partial file is left")
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	url, asked, _ := serve(t, whole)
	path := filepath.Join(t.TempDir(), "model.pth")
	opts := options(t)
	var last int64
	opts.Progress = func(n int64) {
		if n < last {
			t.Errorf("%d bytes after %d", n, last)
		}
		last = n
	}
	for range 2 { // the second finds it there
		if err := Download(t.Context(), file(url), path, opts); err != nil {
			t.Fatal(err)
		}
		checkContent(t, path)
	}
	if last != int64(len(content)) || asked.Load() != 1 {
		t.Errorf("%d bytes reported, asked %d times", last, asked.Load())
	}
}

// TestResume: a connection that is cut again and again brings the file all the
// same, and nothing is sent twice.
func TestResume(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	url, asked, last := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if sent.Add(1) < 5 {
			cut(w, r)
		}
		whole(w, r)
	})
	path := filepath.Join(t.TempDir(), "model.pth")
	if err := Download(t.Context(), file(url), path, options(t)); err != nil {
		t.Fatal(err)
	}
	checkContent(t, path)
	if asked.Load() != 5 || last.Load() == "" {
		t.Errorf("asked %d times, last for the range %q", asked.Load(), last.Load())
	}
}

// TestResumeLater: what one call left, the next goes on with.
func TestResumeLater(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int64{"size known": int64(len(content)), "size unknown": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var broken atomic.Bool
			broken.Store(true)
			url, _, last := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if broken.Load() && r.Header.Get("Range") == "" {
					cut(w, r)
				}
				if broken.Load() {
					panic(http.ErrAbortHandler)
				}
				whole(w, r)
			})
			path := filepath.Join(t.TempDir(), "model.pth")
			f := file(url)
			f.Bytes = size
			err := Download(t.Context(), f, path, options(t))
			if err == nil || !strings.Contains(err.Error(), "goes on where it stopped") && !errors.Is(err, ErrNoNetwork) {
				t.Fatalf("a server that hangs up gave %v", err)
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("half a file has the whole one's name")
			}
			broken.Store(false)
			if err := Download(t.Context(), f, path, options(t)); err != nil {
				t.Fatal(err)
			}
			checkContent(t, path)
			if last.Load() == "" {
				t.Error("the second call began again")
			}
		})
	}
}

// TestServersThatKnowNoRanges: one that ignores what it is asked for, one that
// refuses, and one that answers with another range.
func TestServersThatKnowNoRanges(t *testing.T) {
	t.Parallel()
	for name, ranged := range map[string]http.HandlerFunc{
		"ignores": func(w http.ResponseWriter, r *http.Request) { r.Header.Del("Range"); whole(w, r) },
		"refuses": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestedRangeNotSatisfiable) },
		"another": func(w http.ResponseWriter, r *http.Request) { r.Header.Set("Range", "bytes=7-"); whole(w, r) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Range") == "" {
					whole(w, r)
					return
				}
				ranged(w, r)
			})
			path := filepath.Join(t.TempDir(), "model.pth")
			if err := os.WriteFile(path+partSuffix, []byte("of another file"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Download(t.Context(), file(url), path, options(t)); err != nil {
				t.Fatal(err)
			}
			checkContent(t, path)
		})
	}
}

// TestAnotherVersionWasLeft: a download that was cut off and went on after an upgrade,
// whose catalogue names another version of the file, had the old one's beginning and
// the new one's rest. It was called changed or damaged on its way, and only a second
// call brought the file.
func TestAnotherVersionWasLeft(t *testing.T) {
	t.Parallel()
	for name, left := range map[string][]byte{
		"a part": []byte("of another file"),
		"all":    bytes.Repeat([]byte("x"), len(content)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _, last := serve(t, whole)
			path := filepath.Join(t.TempDir(), "model.pth")
			if err := os.WriteFile(path+partSuffix, left, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Download(t.Context(), file(url), path, options(t)); err != nil {
				t.Fatal(err)
			}
			checkContent(t, path)
			if last.Load() != "" {
				t.Errorf("asked for the range %q at last", last.Load())
			}
		})
	}
}

func TestDownloadFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handle http.HandlerFunc
		words  []string
		left   bool // what came is kept
	}{
		"wrong bytes": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte("x"), len(content))) }, []string{"SHA-256", "changed or damaged"}, false},
		"too long":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(append(content, 'x')) }, []string{"more than the 1048576 bytes"}, false},
		"too short":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("short")) }, []string{"goes on where it stopped"}, true},
		// From a server that knows ranges it came again and again: what was thrown away then counted as progress.
		"too short for its ranges": {func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "model.pth", time.Time{}, bytes.NewReader(content[:1000]))
		}, []string{"can't go on"}, true},
		"absent": {http.NotFound, []string{"404 Not Found"}, true},
		"mute":   {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, []string{"stood still"}, true},
		"slow": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(content[:1000])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, []string{"stood still", "goes on"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _, _ := serve(t, test.handle)
			path := filepath.Join(t.TempDir(), "model.pth")
			opts := options(t)
			if name == "mute" || name == "slow" {
				opts.Idle = 2 * time.Second
			}
			err := Download(t.Context(), file(url), path, opts)
			for _, w := range test.words {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("error is %v, want one that says %q", err, w)
				}
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("a file that failed has its name")
			}
			info, err := os.Stat(path + partSuffix)
			if kept := err == nil && info.Size() > 0; kept && !test.left {
				t.Errorf("%d bytes that can't be used are left", info.Size())
			}
		})
	}
}

func TestNoNetwork(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(whole))
	url := server.URL
	server.Close()
	err := Download(t.Context(), file(url), filepath.Join(t.TempDir(), "x"), options(t))
	if !errors.Is(err, ErrNoNetwork) || !strings.HasPrefix(err.Error(), "127.0.0.1:") || !strings.Contains(err.Error(), "mirror") {
		t.Errorf("a host that is not there gave %v", err)
	}
}

// A firewall that drops packets was told as a connection that had been cut, after a
// minute and a half, with the advice to go on by the same command.
func TestSilentNetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, silentNetwork)
}

func silentNetwork(t *testing.T) {
	t.Helper()
	opts := options(t)
	opts.Idle = 50 * time.Millisecond
	var dialed atomic.Int32
	over := make(chan struct{})
	defer close(over)
	opts.Client = &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		dialed.Add(1)
		<-over // the transport goes on dialling when nobody waits for it any more
		return nil, context.Canceled
	}}}
	err := Download(t.Context(), file("http://192.0.2.1/x"), filepath.Join(t.TempDir(), "x"), opts)
	if !errors.Is(err, ErrNoNetwork) || !strings.Contains(err.Error(), "no answer within 50ms") || dialed.Load() != 1 {
		t.Errorf("a host that is silent gave %v after %d attempts", err, dialed.Load())
	}
}

func TestDownloadIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	url, asked, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	if err := Download(ctx, file(url), filepath.Join(t.TempDir(), "x"), options(t)); err == nil || asked.Load() != 1 {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
}

// TestCopy: of a file of the mirror that was too large as much was copied as any file may have, a
// gigabyte, and stayed in the cache.
func TestCopy(t *testing.T) {
	t.Parallel()
	mirror := t.TempDir()
	for name, data := range map[string][]byte{"good": content, "other": []byte("other"), "long": append(bytes.Clone(content), 1)} {
		if err := os.WriteFile(filepath.Join(mirror, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"good": "", "other": "SHA-256", "long": "more than 1048576 bytes", "absent": "the mirror has no"} {
		for _, known := range []bool{true, false} {
			opts, f := options(t), file("https://x/y")
			if !known {
				opts.Limit, f.Bytes = f.Bytes, 0
			}
			path := filepath.Join(t.TempDir(), "model.pth")
			err := Copy(f, filepath.Join(mirror, name), path, opts)
			if want == "" {
				if err != nil {
					t.Error(err)
				}
				checkContent(t, path)
				continue
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
			if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
				t.Errorf("%s: left %q", name, left)
			}
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Options){
		"client": func(o *Options) { o.Client = nil }, "idle": func(o *Options) { o.Idle = 0 },
		"limit": func(o *Options) { o.Limit = 0 }, "attempts": func(o *Options) { o.Attempts = 0 },
	} {
		opts := DefaultOptions()
		spoil(&opts)
		if err := Download(t.Context(), File{}, "x", opts); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
}
