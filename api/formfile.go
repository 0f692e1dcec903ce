package api

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"

	"deepfaked/internal/filename"
	"deepfaked/preprocess"
)

// file takes in the field file. What looks like an ordinary value may be a file all
// the same, which its beginning tells.
func (r *formReader) file(f *form, part *multipart.Part) error {
	var content io.Reader = part
	if part.FileName() == "" && isText(part.Header.Get("Content-Type")) {
		head, err := headOf(part)
		if err != nil {
			return err
		}
		content = io.MultiReader(bytes.NewReader(head), part)
		if isValue(head) {
			f.reject("The field file holds text, not a file; with curl write -F file=@NAME.")
			if _, err := io.Copy(io.Discard, io.LimitReader(content, r.fileBytes)); err != nil {
				return err
			}
			return r.beyond(f, content)
		}
	}
	return r.upload(f, part.FileName(), content)
}

// isValue says that a field which begins so holds text, such as the name of a file. What is
// neither that nor of a known format is a file that nobody can judge.
func isValue(head []byte) bool {
	_, known := preprocess.Sniff(head)
	return !known && len(head) > 0 && strings.HasPrefix(http.DetectContentType(head), "text/")
}

// upload spools the file. Once it is over the limit, or there is no room for it, it
// is only counted: what follows it in the form may still decide the answer.
func (r *formReader) upload(f *form, name string, content io.Reader) error {
	f.hasFile, f.fileName = true, filename.Sent(name)
	upTo := io.LimitReader(content, r.fileBytes)
	n, err := r.spooled(f, upTo)
	if own, ok := errors.AsType[*ownError](err); ok {
		f.failed = own
		f.close()
		if r.isFinal(f) {
			return nil
		}
		_, err = io.Copy(io.Discard, upTo)
	}
	if f.bytes = n; err != nil {
		return err
	}
	return r.beyond(f, content)
}

// beyond counts and drops what of a file is over the limit.
func (r *formReader) beyond(f *form, content io.Reader) error {
	over, err := io.Copy(io.Discard, content)
	if over > 0 {
		f.bytes++
		f.tooLarge = &problem{code: payloadTooLarge, message: fmt.Sprintf(
			"The file is larger than the limit of %s.", size(r.fileBytes))}
	}
	return err
}

// spooled writes src to a new file, where uploads are wanted, and returns how long it is.
func (r *formReader) spooled(f *form, src io.Reader) (int64, error) {
	if r.create == nil {
		return io.Copy(io.Discard, src)
	}
	file, err := r.create()
	if err != nil {
		return 0, &ownError{err}
	}
	f.file = file
	buffered := writers.Get().(*bufio.Writer)
	buffered.Reset(&spoolWriter{file})
	defer func() { buffered.Reset(nil); writers.Put(buffered) }()
	n, err := io.Copy(buffered, src)
	return n, errors.Join(err, buffered.Flush())
}

// copyBuffer is what is read of a connection and written to the spool at a time:
// mime/multipart asks for 4 KiB, and gives as much.
const copyBuffer = 64 << 10

// What reads and writes bodies is used again: made for each, it was most of the memory
// that a request took.
var (
	readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, copyBuffer) }}
	writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, copyBuffer) }}
)

// headOf reads as much of a part as tells what it is.
func headOf(part io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(part, preprocess.SniffBytes))
}

// isText says that a part without a file name looks like an ordinary form value: it
// has no type of its own, or that of text. Some clients send files so.
func isText(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return contentType == "" || err != nil || media == "text/plain"
}

// ownError marks what went wrong on our side: the spool, or that we stop.
type ownError struct{ error }

// Unwrap returns the cause.
func (e *ownError) Unwrap() error { return e.error }

// spoolWriter marks the errors of writing, to tell them from those of reading.
type spoolWriter struct{ io.Writer }

// Write implements io.Writer.
func (w *spoolWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		err = &ownError{err}
	}
	return n, err
}
