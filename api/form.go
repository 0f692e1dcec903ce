package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"

	"deepfaked/inference"
	"deepfaked/internal/spool"
	"deepfaked/preprocess"
)

// Bounds of a form, besides the file. A form that needs more is not ours.
const (
	maxFields      = 64
	maxFieldBytes  = 1 << 10
	maxHeaderBytes = 32 << 10 // of everything between two parts
)

var errFormHeader = errors.New("the form's part headers are too long")

// form is what a submission says. What is wrong with it is kept by class, so
// that the caller can answer in the contract's order whatever came first.
type form struct {
	async       bool
	detail      bool
	kind        preprocess.Kind       // empty: not declared
	sensitivity inference.Sensitivity // empty: not given
	file        *spool.File           // nil when there was none or it was not kept
	hasFile     bool
	fileName    string // as it was sent, fit to be kept
	bytes       int64  // of the file, counted up to one over the limit

	tooLarge error // 413
	invalid  error // 400: the first of its kind
	failed   error // ours, or the connection's
}

// close gives the spooled file back. It is idempotent.
func (f *form) close() {
	if f.file != nil {
		_ = f.file.Close()
	}
}

// reject remembers the first thing that is wrong with the form itself.
func (f *form) reject(format string, args ...any) {
	if f.invalid == nil {
		f.invalid = &problem{code: invalidRequest, message: fmt.Sprintf(format, args...)}
	}
}

// formReader reads one multipart form from a stream.
type formReader struct {
	fileBytes int64                       // largest file
	create    func() (*spool.File, error) // nil: the file's bytes are counted and dropped
	final     func(*form) bool            // true: the rest can't change the answer
	budget    *budgetReader
	seen      map[string]bool
}

// read takes in the form. The caller closes it, whatever it says.
func (r *formReader) read(ctx context.Context, header http.Header, src io.Reader) *form {
	f := &form{}
	if coding := header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		f.reject("The form must be sent as it is, without a Content-Encoding.")
		return f
	}
	contentType := header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		f.reject("The request must be a multipart/form-data form with the field file.")
		return f
	}
	buffered := readers.Get().(*bufio.Reader)
	buffered.Reset(src)
	defer func() { buffered.Reset(nil); readers.Put(buffered) }()
	r.budget = &budgetReader{src: buffered}
	r.seen = make(map[string]bool)
	err = r.parts(f, multipart.NewReader(r.budget, params["boundary"]))
	// net/http cancels the context when reading fails, too: that is no cause.
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = &ownError{cause}
	}
	if err != nil {
		f.note(err, r.fileBytes)
	}
	if !f.hasFile && f.invalid == nil && !r.isFinal(f) {
		f.reject("The form has no field file: send the media file in it.")
	}
	return f
}

func (r *formReader) isFinal(f *form) bool { return r.final != nil && r.final(f) }

// parts walks through the form and to the end of the body, which has to be
// reached for net/http to notice that a client has gone.
func (r *formReader) parts(f *form, parts *multipart.Reader) error {
	for n := 0; ; n++ {
		r.budget.left = maxHeaderBytes
		part, err := parts.NextRawPart()
		r.budget.left = math.MaxInt64
		// A body that ends without the closing boundary gives a wrapped EOF.
		if err == io.EOF { //nolint:errorlint // see above
			_, err = io.Copy(io.Discard, r.budget)
			return err
		}
		if err != nil {
			return err
		}
		if n == maxFields {
			f.reject("The form has more than %d fields.", maxFields)
			return nil
		}
		if err := r.part(f, part); err != nil {
			return err
		}
		if r.isFinal(f) {
			return nil
		}
	}
}

// part takes in one field. Unknown ones are read and ignored.
func (r *formReader) part(f *form, part *multipart.Part) error {
	name := nameOf(part)
	if name == "" && !isReadable(part.Header.Get("Content-Disposition")) {
		f.reject(`The form is malformed: the header Content-Disposition of a part can't be read; write it as form-data; name="file"; filename="NAME".`)
	}
	known := name == "file" || name == "async" || name == "media_type" || name == "sensitivity" || name == "detail"
	if !known || r.seen[name] {
		if known {
			f.reject("The field %s was sent more than once: send it once.", name)
		}
		_, err := io.Copy(io.Discard, part)
		return err
	}
	r.seen[name] = true
	if name == "file" {
		return r.file(f, part)
	}
	return field(f, name, part)
}

// nameOf is the field's name, also where a file name that is not escaped makes the
// header unreadable: clients write the field's before it.
func nameOf(part *multipart.Part) string {
	if name := part.FormName(); name != "" {
		return name
	}
	rest, isField := strings.CutPrefix(part.Header.Get("Content-Disposition"), `form-data; name="`)
	name, _, isWhole := strings.Cut(rest, `"; `)
	if !isField || !isWhole || strings.Contains(name, `"`) {
		return ""
	}
	return name
}

// isReadable says that a part's Content-Disposition is absent or in its right form:
// the name of one that is not is lost.
func isReadable(disposition string) bool {
	_, _, err := mime.ParseMediaType(disposition)
	return disposition == "" || err == nil
}

// field reads a short value and sets it.
func field(f *form, name string, part io.Reader) error {
	value, err := io.ReadAll(io.LimitReader(part, maxFieldBytes+1))
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, part); err != nil {
		return err
	}
	f.set(name, string(value))
	return nil
}

// set understands the value of a known field. Only booleans ignore case: that is
// how Python spells them.
func (f *form) set(name, value string) {
	switch name {
	case "async":
		switch strings.ToLower(value) {
		case "true":
			f.async = true
		case "false":
		default:
			f.reject("The field async must be true or false.")
		}
	case "detail":
		var err error
		if f.detail, err = detailed(value); err != nil {
			f.reject("The field detail must be true or false.")
		}
	case "media_type":
		switch kind := preprocess.Kind(value); kind {
		case preprocess.Image, preprocess.Audio, preprocess.Video:
			f.kind = kind
		default:
			f.reject("The field media_type must be image, audio or video; leave it out to have it detected.")
		}
	case "sensitivity":
		switch level := inference.Sensitivity(value); level {
		case inference.Balanced, inference.Strict, inference.Sensitive:
			f.sensitivity = level
		default:
			f.reject("The field sensitivity must be balanced, strict or sensitive.")
		}
	}
}

// bodyTooLarge refuses a body by the limit that its client knows, which is of files.
func bodyTooLarge(fileBytes int64) *problem {
	return &problem{code: payloadTooLarge,
		message: fmt.Sprintf("The request body is larger than the limit: files may have up to %s.", size(fileBytes))}
}

// note sorts an error that ended the reading into its class; fileBytes is the largest file.
func (f *form) note(err error, fileBytes int64) {
	var own *ownError
	switch {
	case errors.Is(err, errBodyTooLarge):
		if f.tooLarge == nil {
			f.tooLarge = bodyTooLarge(fileBytes)
		}
	case errors.Is(err, errBodySlow):
		f.reject("The upload was too slow or stalled, and was cut off.")
	case errors.Is(err, errFormHeader):
		f.reject("The form is malformed: a part's headers are longer than %d bytes.", maxHeaderBytes)
	case errors.As(err, &own):
		f.failed = err
	case errors.As(err, new(textproto.ProtocolError)):
		f.reject("The form is malformed: the headers of a part can't be read; a file name must not have control characters.")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		f.reject("The form is truncated: the body ended before its closing boundary.")
	default:
		f.reject("The form is malformed: it could not be read as multipart/form-data.")
	}
}

// budgetReader bounds what is read for the headers of one part: mime/multipart
// itself would hold ten megabytes of them.
type budgetReader struct {
	src  io.Reader
	left int64
}

// Read implements io.Reader.
func (r *budgetReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errFormHeader
	}
	if int64(len(p)) > r.left {
		p = p[:r.left]
	}
	n, err := r.src.Read(p)
	r.left -= int64(n)
	return n, err
}
