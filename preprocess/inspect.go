package preprocess

import (
	"errors"
	"fmt"
	"io"
)

// sniffBytes is how much of the beginning of a file Sniff may look at.
const sniffBytes = 4096

// inspect is all that is done to a file outside of the sandbox: the first bytes
// against the list of formats, then the declared dimensions against the limits.
func inspect(f io.ReaderAt, size int64, declared Kind, limits Limits) (Format, error) {
	if size <= 0 {
		return "", &Error{Code: EmptyFile, Message: "The file is empty."}
	}
	head := make([]byte, min(size, sniffBytes))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the file: %w", err)
	}
	format, ok := Sniff(head[:n])
	if !ok {
		return "", &Error{
			Code:    UnsupportedMediaType,
			Message: "The file is not of a known image, audio or video format.",
		}
	}
	damage := checkHeader(f, size, format, limits)
	var fault *Error
	if errors.As(damage, &fault) && fault.Code == PayloadTooLarge {
		return "", damage
	}
	if kind := format.Kind(); declared != "" && kind != "" && kind != declared {
		return "", mismatch(declared, kind)
	}
	return format, damage
}
