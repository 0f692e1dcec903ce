package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"deepfaked/internal/filename"
	"deepfaked/internal/load"
)

// The forms in which a file is posted.
const (
	formMultipart  = "multipart"
	formKServe     = "kserve"
	formKServeJSON = "kserve-json"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// target is any server that takes a file in one request and answers 200. What is
// sent is made before the load, so that making it takes no time from it.
type target struct {
	http     *http.Client
	url, key string
	mix      *mix
}

// payload is a request without its address.
type payload struct {
	header http.Header
	body   []byte
}

// newTarget makes the request of each file ready; it calls nothing.
func newTarget(c *cli, m *mix, transport *http.Transport) (*target, error) {
	address, err := url.Parse(strings.TrimRight(c.URL, "/") + c.Post)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" || !strings.HasPrefix(c.Post, "/") {
		return nil, fmt.Errorf("%s followed by %s is no address: one must begin with http:// or https:// and the other with /", c.URL, c.Post)
	}
	for _, g := range m.groups {
		for i, f := range g.files {
			if len(f.content) == 0 {
				return nil, fmt.Errorf("%s is empty", filename.Shown(f.name))
			}
			if g.files[i].posted, err = encode(c.Form, f); err != nil {
				return nil, err
			}
		}
	}
	return &target{&http.Client{Transport: transport, CheckRedirect: stay}, address.String(), c.Key, m}, nil
}

// stay answers redirects with what they are.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func encode(form string, f file) (payload, error) {
	switch form {
	case formKServe:
		return encodeKServe(f)
	case formKServeJSON:
		return encodeKServeJSON(f)
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("file", f.name)
	if err != nil {
		return payload{}, err
	}
	if _, err := part.Write(f.content); err != nil {
		return payload{}, err
	}
	if err := w.Close(); err != nil {
		return payload{}, err
	}
	return payload{http.Header{"Content-Type": {w.FormDataContentType()}}, body.Bytes()}, nil
}

// tensor is the one input of a request of the Open Inference Protocol, version 2 of
// KServe's: one string of bytes.
type tensor struct {
	Name       string         `json:"name"`
	Shape      []int          `json:"shape"`
	Datatype   string         `json:"datatype"`
	Parameters map[string]any `json:"parameters"`
	Data       []string       `json:"data,omitempty"`
}

func (t tensor) marshal() ([]byte, error) {
	t.Name, t.Shape, t.Datatype = "FILE", []int{1, 1}, "BYTES"
	return json.Marshal(map[string]any{"inputs": []tensor{t}})
}

// encodeKServe uses the protocol's extension for binary data: the string comes after
// the JSON, and its length before it.
func encodeKServe(f file) (payload, error) {
	content := append(binary.LittleEndian.AppendUint32(nil, uint32(len(f.content))), f.content...) //nolint:gosec // at most maxContent
	head, err := tensor{Parameters: map[string]any{"binary_data_size": len(content)}}.marshal()
	return payload{http.Header{
		"Content-Type":                    {"application/octet-stream"},
		"Inference-Header-Content-Length": {strconv.Itoa(len(head))},
	}, append(head, content...)}, err
}

// encodeKServeJSON is for servers without that extension.
func encodeKServeJSON(f file) (payload, error) {
	body, err := tensor{
		Parameters: map[string]any{"content_type": "base64"}, Data: []string{base64.StdEncoding.EncodeToString(f.content)},
	}.marshal()
	return payload{http.Header{"Content-Type": {"application/json"}}, body}, err
}

func (t *target) close() { t.http.CloseIdleConnections() }

// next picks the next request.
func (t *target) next() load.Call {
	p := t.mix.pick().posted
	return func(ctx context.Context) load.Answer {
		a := load.Answer{Mode: modeSync}
		status, message, err := t.send(ctx, p)
		if status != 0 {
			a.Statuses = []int{status}
			keep(&a, status, message)
		}
		a.OK = err == nil && status == http.StatusOK
		if err != nil {
			a.Error = short(err)
		}
		return a
	}
}

// send posts once and reads the whole answer, and where it is no success, its message.
// The status is 0 where there was none.
func (t *target) send(ctx context.Context, p payload) (status int, message string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(p.body))
	if err != nil {
		return 0, "", err
	}
	r.Header = p.header.Clone()
	if t.key != "" {
		r.Header.Set("Authorization", "Bearer "+t.key)
	}
	resp, err := t.http.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	answer := io.LimitReader(resp.Body, maxAnswer)
	if resp.StatusCode != http.StatusOK {
		message = messageOf(answer)
	}
	if _, err := io.Copy(io.Discard, answer); err != nil {
		return 0, "", err
	}
	return resp.StatusCode, message, nil
}

// messageOf is what the beginning of an answer says went wrong, in one of the fields
// that servers have for it; empty where none does.
func messageOf(answer io.Reader) string {
	var said map[string]any
	if json.NewDecoder(io.LimitReader(answer, 64<<10)).Decode(&said) != nil {
		return ""
	}
	for _, field := range []string{"message", "error", "detail"} {
		if message, ok := said[field].(string); ok {
			return message
		}
	}
	return ""
}

// probe posts a file, so that a wrong address is told before the long wait. A server
// that is busy or fails is measured like any other.
func (t *target) probe(ctx context.Context) error {
	status, _, err := t.send(ctx, t.mix.groups[0].files[0].posted)
	switch {
	case err != nil:
		return fmt.Errorf("the server can't be measured: %w", err)
	case status/100 != 2 && !temporary(status):
		return fmt.Errorf("the server can't be measured: it answers %d where 200 counts", status)
	}
	return nil
}
