package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// other is a server that is not ours: it answers 200 to the content that it knows,
// in either form, and 503 to the rest.
func other(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var content []byte
		switch r.URL.Path {
		case "/predict":
			if f, _, err := r.FormFile("file"); assert.NoError(t, err) {
				content, _ = io.ReadAll(f)
			}
		case "/v2/models/m/infer":
			content = fromKServe(t, r)
		default:
			http.Redirect(w, r, "/predict", http.StatusTemporaryRedirect)
			return
		}
		assert.Empty(t, r.Header.Get("Authorization"))
		if string(content) != pngBytes {
			reply(w, http.StatusServiceUnavailable, map[string]any{"detail": "busy\nnow"})
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func fromKServe(t *testing.T, r *http.Request) []byte {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	assert.NoError(t, err)
	length := len(body)
	if told := r.Header.Get("Inference-Header-Content-Length"); told != "" {
		length, err = strconv.Atoi(told)
		assert.NoError(t, err)
	}
	var head struct{ Inputs []tensor }
	if !assert.NoError(t, json.Unmarshal(body[:length], &head)) || !assert.Len(t, head.Inputs, 1) {
		return nil
	}
	in := head.Inputs[0]
	assert.Equal(t, "FILE", in.Name)
	assert.Equal(t, "BYTES", in.Datatype)
	assert.Equal(t, []int{1, 1}, in.Shape)
	if in.Parameters["content_type"] == "base64" {
		content, err := base64.StdEncoding.DecodeString(in.Data[0])
		assert.NoError(t, err)
		return content
	}
	assert.InDelta(t, in.Parameters["binary_data_size"], len(body)-length, 0)
	assert.Equal(t, len(body)-length-4, int(binary.LittleEndian.Uint32(body[length:])))
	return body[length+4:]
}

// TestOtherServers: any server can get the same load, without a key.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	address := other(t).URL
	for name, args := range map[string][]string{
		"as a form":       {"--post", "/predict"},
		"as a tensor":     {"--post", "/v2/models/m/infer", "--form", "kserve"},
		"in base64":       {"--post", "/v2/models/m/infer", "--form", "kserve-json"},
		"one of ten fail": {"--post", "/predict", "--mix", "image=9,audio=1", place(t, t.TempDir(), "a.wav", wavBytes)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--url", address, "--clients", "2", "--warmup", "0s", "--window", "500ms", "--windows", "3", "--json", "-"}, args...)
			s := call(t.Context(), append(args, picture(t))...)
			require.Zero(t, s.code, s.err)
			r := understood(t, s.out)
			require.Len(t, r.Steps, 1)
			assert.Positive(t, r.Steps[0].Successes)
			assert.Equal(t, r.Steps[0].Successes, r.Steps[0].Statuses["200"])
			assert.Equal(t, r.Steps[0].Failures, r.Steps[0].Statuses["503"])
			assert.Equal(t, name == "one of ten fail", r.Steps[0].Failures > 0)
			if r.Steps[0].Failures > 0 {
				assert.Regexp(t, `2 clients: \d+ answers? of 503, the first: "busy\\nnow"\n`, s.err)
				assert.Equal(t, map[string]string{"503": "busy\nnow"}, r.Steps[0].Messages)
			}
		})
	}
}

// TestOtherServersNotMeasurable: as with ours, what can't succeed is told at once.
func TestOtherServersNotMeasurable(t *testing.T) {
	t.Parallel()
	address, file := other(t).URL, picture(t)
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"a redirect":      {[]string{"--url", address, "--post", "/elsewhere", file}, exitFailed, "it answers 307"},
		"no path":         {[]string{"--url", address, "--post", "predict", file}, exitUsage, "is no address"},
		"no scheme":       {[]string{"--url", "localhost", "--post", "/predict", file}, exitUsage, "is no address"},
		"asynchronous":    {[]string{"--url", address, "--post", "/predict", "--mode", "async", file}, exitUsage, "leave --mode out"},
		"a strange form":  {[]string{"--url", address, "--post", "/predict", "--form", "json", file}, exitUsage, "--form"},
		"nothing to send": {[]string{"--url", address, "--post", "/predict", place(t, t.TempDir(), "empty", "")}, exitUsage, "is empty"},
	} {
		s := call(t.Context(), append(c.args, "--rate", "50")...)
		assert.Equal(t, c.code, s.code, name)
		assert.True(t, strings.Contains(s.err, c.want), "%s: %s", name, s.err)
	}
}
