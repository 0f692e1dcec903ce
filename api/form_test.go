package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/spool"
	"deepfaked/preprocess"
)

const boundary = "multipart/form-data; boundary=b"

// typed are the headers of a form.
func typed(contentType string) http.Header { return http.Header{"Content-Type": {contentType}} }

// text is a field as it stands in a body.
func text(name, value string) string {
	return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
}

// upload is a file as it stands in a body.
func upload(content string) string {
	return "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\nContent-Type: image/png\r\n\r\n" + content + "\r\n"
}

const end = "--b--\r\n"

func newReader(t testing.TB) *formReader {
	t.Helper()
	s, err := spool.New(spool.Options{Dir: filepath.Join(t.TempDir(), "spool")})
	if err != nil {
		t.Fatal(err)
	}
	return &formReader{fileBytes: 1000, create: s.Create}
}

// formCases are the cases of TestForm.
var formCases = map[string]struct {
	contentType string // empty: boundary
	body        string
	want        string // in the message; empty: no error
}{
	"good":                           {body: text("async", "false") + upload("abc") + end},
	"missing file":                   {body: text("async", "true") + end, want: "no field file"},
	"empty form":                     {body: end, want: "no field file"},
	"file as text":                   {body: text("file", "photo.jpg") + end, want: "file=@NAME"},
	"file without name, with type":   {body: "--b\r\nContent-Disposition: form-data; name=\"file\"\r\nContent-Type: image/png\r\n\r\nabc\r\n" + end},
	"quotes in the file's name":      {body: strings.Replace(upload("b"), `"x"`, `"my "best" photo.jpg"`, 1) + end},
	"quotes in a field's name":       {body: strings.Replace(upload("b"), `"file"`, `"my "best" file"`, 1) + end, want: "a part can't be read"},
	"a broken file name goes first":  {body: strings.Replace(upload("b"), `name="file"; filename="x"`, `filename="x\"; name="file"`, 1) + end, want: "a part can't be read"},
	"control character in the name":  {body: strings.Replace(upload("b"), `"x"`, "\"x\x01\"", 1) + end, want: "control characters"},
	"two files":                      {body: upload("a") + upload("b") + end, want: "field file was sent more than once"},
	"async twice":                    {body: text("async", "true") + upload("b") + text("async", "true") + end, want: "field async was sent more than once"},
	"sensitivity twice":              {body: text("sensitivity", "strict") + text("sensitivity", "strict") + upload("b") + end, want: "field sensitivity was sent more than once"},
	"unknown twice":                  {body: text("x", "1") + text("x", "2") + upload("b") + end},
	"unknown and long":               {body: text("x", strings.Repeat("x", 5000)) + upload("b") + end},
	"unknown file":                   {body: strings.Replace(upload("zzz"), `"file"`, `"other"`, 1) + upload("b") + end},
	"async yes":                      {body: text("async", "yes") + upload("b") + end, want: "async must be true or false"},
	"async 1":                        {body: text("async", "1") + upload("b") + end, want: "async must be true or false"},
	"async empty":                    {body: text("async", "") + upload("b") + end, want: "async must be true or false"},
	"async long":                     {body: text("async", "true"+strings.Repeat(" ", 5000)) + upload("b") + end, want: "async must be true or false"},
	"media_type text":                {body: text("media_type", "text") + upload("b") + end, want: "media_type must be image, audio or video"},
	"media_type in upper case":       {body: text("media_type", "IMAGE") + upload("b") + end, want: "media_type must be image, audio or video"},
	"sensitivity high":               {body: upload("b") + text("sensitivity", "high") + end, want: "sensitivity must be balanced, strict or sensitive"},
	"the first bad one is named":     {body: text("sensitivity", "x") + text("async", "x") + upload("b") + end, want: "sensitivity must be"},
	"64 fields":                      {body: strings.Repeat(text("x", "y"), 63) + upload("b") + end},
	"65 fields":                      {body: strings.Repeat(text("x", "y"), 64) + upload("b") + end, want: "more than 64 fields"},
	"no content type":                {contentType: " ", body: upload("b") + end, want: "multipart/form-data"},
	"JSON":                           {contentType: "application/json", body: "{}", want: "multipart/form-data"},
	"url-encoded":                    {contentType: "application/x-www-form-urlencoded", body: "file=x", want: "multipart/form-data"},
	"multipart/mixed":                {contentType: "multipart/mixed; boundary=b", body: upload("b") + end, want: "multipart/form-data"},
	"no boundary":                    {contentType: "multipart/form-data", body: upload("b") + end, want: "multipart/form-data"},
	"other boundary":                 {contentType: "multipart/form-data; boundary=c", body: upload("b") + end, want: "truncated"},
	"empty body":                     {body: "", want: "truncated"},
	"cut in the file":                {body: "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\nabc", want: "truncated"},
	"cut in a field":                 {body: "--b\r\nContent-Disposition: form-data; name=\"async\"\r\n\r\ntru", want: "truncated"},
	"cut before the end":             {body: upload("b"), want: "truncated"},
	"cut in a header":                {body: "--b\r\nContent-Dispo", want: "malformed"},
	"no header separator":            {body: "--b\r\nnonsense\r\n\r\nabc\r\n" + end, want: "malformed"},
	"a header without end":           {body: "--b\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n" + end, want: "headers are longer"},
	"many headers":                   {body: "--b\r\n" + strings.Repeat("X: y\r\n", 1<<16) + "\r\nabc\r\n" + end, want: "headers are longer"},
	"a preamble":                     {body: "hello\r\n" + upload("b") + end},
	"an epilogue":                    {body: upload("b") + end + "bye"},
	"quoted-printable is not undone": {body: strings.Replace(upload("a=62"), "Content-Type", "Content-Transfer-Encoding: quoted-printable\r\nContent-Type", 1) + end},
}

// Decisions: missing file, malformed form, bad values, unknown fields.
func TestForm(t *testing.T) {
	t.Parallel()
	for name, c := range formCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contentType := c.contentType
			if contentType == "" {
				contentType = boundary
			}
			f := newReader(t).read(t.Context(), typed(contentType), strings.NewReader(c.body))
			defer f.close()
			if f.failed != nil || f.tooLarge != nil {
				t.Fatalf("failed %v, too large %v", f.failed, f.tooLarge)
			}
			if c.want == "" {
				if f.invalid != nil || f.file == nil || f.file.Size() != f.bytes {
					t.Errorf("refused: %v", f.invalid)
				}
				return
			}
			var p *problem
			if !errors.As(f.invalid, &p) || p.code != invalidRequest || !strings.Contains(p.message, c.want) {
				t.Errorf("said %v, want %q", f.invalid, c.want)
			}
		})
	}
}

// A form that was compressed was called malformed, for headers that were too long.
func TestFormWithAContentEncoding(t *testing.T) {
	t.Parallel()
	for coding, want := range map[string]string{"": "", "Identity": "", "gzip": "without a Content-Encoding"} {
		header := typed(boundary)
		header.Set("Content-Encoding", coding)
		f := newReader(t).read(t.Context(), header, strings.NewReader(upload("b")+end))
		if p, _ := errors.AsType[*problem](f.invalid); want == "" && f.invalid != nil || want != "" && (p == nil || !strings.Contains(p.message, want)) {
			t.Errorf("%q: %v", coding, f.invalid)
		}
		f.close()
	}
}

// A file in a part without a file name, as Go's CreateFormField and Python's requests
// with (None, file) send it, was refused as text unless its part had a type; of a format that
// nobody knows it still was, in place of the 415 that says so. Text over the limit is 413, as
// any file is.
func TestFormWithANamelessFile(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"\x89PNG\r\n\x1a\n" + strings.Repeat("x", 900): "",
		"RIFF\x24\x00\x00\x00WAVEfmt ":                 "",
		"":                                             "is empty",
		"photo.jpg":                                    "file=@NAME",
		"\x00\x01\x02 of no known format":              "",
		strings.Repeat("text", 250):                    "file=@NAME",
		strings.Repeat("text", 250) + "!":              "larger than the limit",
	} {
		f := newReader(t).read(t.Context(), typed(boundary), strings.NewReader(text("file", content)+end))
		err := f.verdict(account.Plan{Name: "pro", Async: true}, nil)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.40q: %v, want %q", content, err, want)
			}
			f.close()
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", content, err)
			continue
		}
		r, err := f.file.Rewind()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != content || f.bytes != int64(len(content)) {
			t.Errorf("kept %q of %q, %v", got, content, err)
		}
		f.close()
	}
}

// A file was refused for its name, which changes nothing: curl leaves a backslash as it
// is, so that one at the end of the name takes the quote behind it along.
func TestFormWithAFileNameThatBreaksItsHeader(t *testing.T) {
	t.Parallel()
	for _, name := range []string{`ends\`, `a"; name="async`, `a"; filename="b`} {
		body := text("async", "true") + strings.Replace(upload("abc"), `"x"`, `"`+name+`"`, 1) + end
		f := newReader(t).read(t.Context(), typed(boundary), strings.NewReader(body))
		if f.invalid != nil || f.bytes != 3 || !f.async {
			t.Errorf("%s: %v, %d bytes", name, f.invalid, f.bytes)
		}
		f.close()
	}
}

// The file's bytes are kept as they are, and only they.
func TestFormKeepsTheFile(t *testing.T) {
	t.Parallel()
	content := "\r\n--b\r\n--bb--\r\n\x00a=62\n--b-\r\n-"
	content = strings.ReplaceAll(content, "--b\r\n", "--c\r\n") // anything but the delimiter itself
	f := newReader(t).read(t.Context(), typed(boundary), strings.NewReader(upload(content)+text("sensitivity", "strict")+end))
	defer f.close()
	if f.invalid != nil || f.sensitivity != inference.Strict {
		t.Fatalf("refused: %+v", f)
	}
	r, err := f.file.Rewind()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != content {
		t.Errorf("kept %q, %v", got, err)
	}
}

// A connection's and the spool's failures are not the form's fault.
func TestFormFailures(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	r := newReader(t)
	r.create = func() (*spool.File, error) { return nil, broken }
	if f := r.read(t.Context(), typed(boundary), strings.NewReader(upload("b")+end)); !errors.Is(f.failed, broken) {
		t.Errorf("a spool that can't be written to: %+v", f)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(broken)
	f := newReader(t).read(ctx, typed(boundary), strings.NewReader(upload("b")+end))
	defer f.close()
	if !errors.Is(f.failed, broken) {
		t.Errorf("a server that stops: %+v", f)
	}
	for err, want := range map[error]string{errBodySlow: "too slow", os.ErrClosed: "malformed"} {
		f := newReader(t).read(t.Context(), typed(boundary), io.MultiReader(strings.NewReader(upload("b")), failingReader{err}))
		f.close()
		if f.invalid == nil || !strings.Contains(f.invalid.Error(), want) {
			t.Errorf("%v: %v", err, f.invalid)
		}
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// FuzzForm feeds bodies to the parser: it must end, keep to its bounds, and
// agree with itself.
func FuzzForm(f *testing.F) {
	for _, body := range []string{
		text("async", "true") + text("media_type", "image") + text("sensitivity", "strict") + upload("abc") + end,
		upload(strings.Repeat("x", 1001)) + text("async", "True") + end,
		upload("") + end, end, "", "--b", "--b\r\n\r\n\r\n--b--",
		text("file", "x") + end, upload("a") + upload("b"), "preamble\r\n" + upload("\r\n--b") + end + "epilogue",
		"--b\nContent-Disposition: form-data; name=file; filename*=utf-8''%41\n\nabc\n--b--\n",
		strings.Replace(upload("abc"), `"x"`, `"x\"`, 1) + end,
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\nContent-Transfer-Encoding: base64\r\n\r\nYWJj\r\n" + end,
	} {
		f.Add([]byte(body), boundary, true)
		f.Add([]byte(body), boundary, false)
	}
	f.Add([]byte("{}"), "application/json", true)
	f.Add([]byte(upload("x")+end), `multipart/form-data; boundary="b"; charset=utf-8`, true)
	s, err := spool.New(spool.Options{Dir: filepath.Join(f.TempDir(), "spool")})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string, keep bool) {
		r := &formReader{fileBytes: 1000}
		if keep {
			r.create = s.Create
		}
		got := r.read(t.Context(), typed(contentType), inPieces(bytes.NewReader(body)))
		checkForm(t, got, keep)
		again := (&formReader{fileBytes: 1000}).read(t.Context(), typed(contentType), bytes.NewReader(body))
		if got.async != again.async || got.kind != again.kind || got.bytes != again.bytes || (got.invalid == nil) != (again.invalid == nil) {
			t.Errorf("read in small pieces %+v, at once %+v", got, again)
		}
		got.close()
		if files, size := s.Usage(); files != 0 || size != 0 {
			t.Errorf("%d files with %d bytes are left", files, size)
		}
	})
}

func checkForm(t *testing.T, f *form, keep bool) {
	t.Helper()
	if f.failed != nil {
		t.Errorf("failed: %v", f.failed)
	}
	if f.bytes > 1001 || (f.bytes > 1000) != (f.tooLarge != nil) {
		t.Errorf("%d bytes, too large: %v", f.bytes, f.tooLarge)
	}
	if f.file != nil && (!keep || f.file.Size() > 1000) {
		t.Errorf("kept %d bytes", f.file.Size())
	}
	err := f.verdict(account.Plan{Name: "pro", Async: true}, nil)
	if err == nil && (f.bytes == 0 || !f.hasFile) {
		t.Error("accepted without a file")
	}
	var empty *preprocess.Error
	if err != nil && !errors.As(err, &empty) && describe(err).code == internalError {
		t.Errorf("an internal error: %v", err)
	}
}

// inPieces gives a few bytes at a time, so that every boundary is split.
func inPieces(r io.Reader) io.Reader { return pieces{r} }

type pieces struct{ io.Reader }

func (p pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), 3)]) }
