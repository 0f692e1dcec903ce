package preprocess

import (
	"errors"
	"fmt"
	"io"
	"os"

	"deepfaked/preprocess/internal/heif"
)

// SniffBytes is how much of the beginning of a file Sniff may look at.
const SniffBytes = 4096

// inspect compares the first bytes with the list of formats, then the declared dimensions with the limits. Beside
// it, all that is done to a file outside of the sandbox is to add up the frames of a small animation (lengthy.go).
func inspect(f io.ReaderAt, size int64, declared Kind, limits Limits) (Format, error) {
	format, err := formatOf(f, size)
	if err != nil {
		return "", err
	}
	damage := checkHeader(f, size, format, limits)
	var fault *Error
	if errors.As(damage, &fault) && fault.Code == PayloadTooLarge {
		return "", damage
	}
	switch kind := format.Kind(); {
	case declared == "" || declared == kind:
	case kind != "":
		return "", mismatch(declared, kind)
	case declared == Image: // no container is one
		return "", mismatch(declared, "sound or video")
	}
	return format, damage
}

// formatOf finds the format of a file by its beginning. The error is an *Error when it is
// of none.
func formatOf(f io.ReaderAt, size int64) (Format, error) {
	if size <= 0 {
		return "", &Error{Code: EmptyFile, Message: "The file is empty."}
	}
	format, err := recognise(f, size)
	if err == nil && format == "" {
		err = &Error{
			Code:    UnsupportedMediaType,
			Message: "The file is not of a known image, audio or video format.",
		}
	}
	return format, err
}

// recognise sniffs at the beginning of the file, and behind the tags that it
// begins with where they are longer than that, as those with a cover are. What passes for a
// film by its beginning may be a picture by the rest. The format is empty for a file of none.
func recognise(f io.ReaderAt, size int64) (Format, error) {
	head := make([]byte, SniffBytes)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the file: %w", err)
	}
	format, _ := Sniff(head[:n])
	if behind := ID3Size(head[:n]); format == MP3 && behind > 0 {
		n, err = f.ReadAt(head, behind)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the file: %w", err)
		}
		format = tagged(head[:n])
	}
	if picture := pictureOfFilm(head[:n]); picture != "" && heif.IsPicture(f, size) {
		return picture, nil
	}
	return format, nil
}

// complete says how much of a file the disk has lost. What is left of it would be refused
// as damaged, or judged for the whole.
func complete(f *os.File, size int64) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("look at the file: %w", err)
	case info.Size() < size:
		return fmt.Errorf("read the file: %d of its %d bytes are there", info.Size(), size)
	}
	return nil
}

// readable says why a file cannot be read to its end. A decoder that could not takes it
// for damaged, or dies of it; the disk that it lies on is the service's.
func readable(f io.ReaderAt, size int64) error {
	if _, err := io.Copy(io.Discard, io.NewSectionReader(f, 0, size)); err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	return nil
}
