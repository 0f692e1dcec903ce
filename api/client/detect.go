package client

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"unicode"
)

// expectBytes is the upload size from which the service is asked for leave
// before the body is sent: a refusal then costs nothing.
const expectBytes = 1 << 20

// DetectOptions are the optional fields of a submission.
type DetectOptions struct {
	MediaType   string // image, audio or video; empty: detected
	Sensitivity string // balanced, strict or sensitive; empty: balanced
}

// Detect uploads the media in r and waits for the verdict. name is the file's
// name; it changes nothing. The upload is streamed: r is read once and not
// held in memory. A refusal is an *Error, and may come before all of r has been
// read; so is a redirect, which is not followed. Another goroutine reads r, until Detect returns: it waits for a Read that
// is under way, so one that never returns holds it up until ctx ends, and only
// then may still be reading. r is not closed.
func (c *Client) Detect(ctx context.Context, name string, r io.Reader, opts DetectOptions) (Detection, error) {
	return c.submit(ctx, name, r, opts, false)
}

// Submit uploads the media in r and returns without a verdict: Wait for it, or
// ask for the Result. Errors, and how r is read, are those of Detect.
func (c *Client) Submit(ctx context.Context, name string, r io.Reader, opts DetectOptions) (Detection, error) {
	return c.submit(ctx, name, r, opts, true)
}

func (c *Client) submit(ctx context.Context, name string, r io.Reader, opts DetectOptions, async bool) (Detection, error) {
	var d Detection
	head, tail, contentType, err := form(name, opts, async)
	if err != nil {
		return d, fmt.Errorf("make the form: %w", err)
	}
	file := lend(r)
	defer file.takeBack(ctx)
	body := io.MultiReader(bytes.NewReader(head), file, bytes.NewReader(tail))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/detect", body)
	if err != nil {
		return d, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("Content-Type", contentType)
	req.ContentLength = -1
	size := sizeOf(r)
	if size >= 0 {
		req.ContentLength = int64(len(head)) + size + int64(len(tail))
	}
	if size < 0 || size >= expectBytes {
		req.Header.Set("Expect", "100-continue")
	}
	d.RetryAfter, err = c.do(req, &d)
	return d, err
}

// form makes what goes before and after the file. The file comes last, so that
// the service knows everything else when it arrives.
func form(name string, opts DetectOptions, async bool) (head, tail []byte, contentType string, err error) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	fields := [][2]string{{"media_type", opts.MediaType}, {"sensitivity", opts.Sensitivity}}
	if async {
		fields = append(fields, [2]string{"async", "true"})
	}
	for _, field := range fields {
		if field[1] == "" {
			continue
		}
		if err := w.WriteField(field[0], field[1]); err != nil {
			return nil, nil, "", err
		}
	}
	if _, err := w.CreateFormFile("file", printable(cmp.Or(name, "upload"))); err != nil {
		return nil, nil, "", err
	}
	split := out.Len()
	if err := w.Close(); err != nil {
		return nil, nil, "", err
	}
	return out.Bytes()[:split:split], out.Bytes()[split:], w.FormDataContentType(), nil
}

// printable is name without control characters, which no header may have.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name)
}

// sizeOf is what is left to read of r, or -1 when that can't be known.
func sizeOf(r io.Reader) int64 {
	switch r := r.(type) {
	case interface{ Len() int }:
		return int64(r.Len())
	case *os.File:
		info, err := r.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return -1
		}
		at, err := r.Seek(0, io.SeekCurrent)
		if err != nil {
			return -1
		}
		return max(0, info.Size()-at)
	}
	return -1
}
