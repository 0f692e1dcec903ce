package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// partSuffix marks a file that is not whole.
const partSuffix = ".part"

// Download fetches the file to path. It does nothing when path has it already,
// and goes on with what an earlier call left in path plus ".part", or begins again
// where that was of another file. The checksum is compared over the whole file
// before it gets its name; the error is a *ChecksumError when it differs, and what
// came is deleted. The error wraps ErrNoNetwork when the host could not be reached.
func Download(ctx context.Context, file File, path string, opts Options) error {
	if err := opts.Validate(); err != nil {
		return err
	}
	if sum, err := digest(path); err == nil && sum == file.SHA256 {
		opts.report(file.Bytes)
		return nil
	}
	if sum, err := digest(path + partSuffix); err == nil && sum == file.SHA256 { // all came, and then something ended us
		return os.Rename(path+partSuffix, path)
	}
	left, _ := os.Stat(path + partSuffix) // nil where nothing was left
	err := opts.complete(ctx, file, path)
	if _, differs := errors.AsType[*ChecksumError](err); differs && left != nil && left.Size() > 0 {
		// What was left may be of another version of the file; now all comes from the server.
		err = opts.complete(ctx, file, path)
	}
	return err
}

// complete fetches what path plus ".part" lacks, and names the whole.
func (o Options) complete(ctx context.Context, file File, path string) error {
	part, err := os.OpenFile(path+partSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("keep the download: %w", err)
	}
	if err := errors.Join(o.attempt(ctx, file, part), part.Close()); err != nil {
		return err
	}
	return settle(file.URL, file.SHA256, path)
}

// settle names what was fetched, when it is the right file.
func settle(from, want, path string) error {
	sum, err := digest(path + partSuffix)
	if err != nil {
		return err
	}
	if sum != want {
		return errors.Join(&ChecksumError{From: from, Got: sum, Want: want}, os.Remove(path+partSuffix))
	}
	return os.Rename(path+partSuffix, path)
}

// attempt asks again for as long as answers bring more of the file.
func (o Options) attempt(ctx context.Context, file File, part *os.File) error {
	for vain, most := 0, int64(0); ; {
		before, err := part.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}
		if file.Bytes > 0 && before == file.Bytes {
			return nil
		}
		err = o.ask(ctx, file, part, before)
		if !errors.Is(err, errCut) || ctx.Err() != nil {
			return err
		}
		after, seekErr := part.Seek(0, io.SeekEnd)
		if seekErr != nil {
			return seekErr
		}
		if vain++; after > most { // what was thrown away and comes again is no progress
			vain, most = 0, after
		}
		if vain == o.Attempts {
			return err
		}
	}
}

// ask sends one request for what is missing, and writes what comes.
func (o Options) ask(ctx context.Context, file File, part *os.File, have int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, file.URL, nil)
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", "deepfaked")
	if have > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	idle := time.AfterFunc(o.Idle, cancel)
	defer idle.Stop()
	answer, err := o.Client.Do(r)
	if err != nil {
		return o.unreachable(ctx, connected.Load(), file.URL, err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	from, err := begin(answer, file, have)
	if errors.Is(err, errRange) { // what there is belongs to another file: begin again
		return errors.Join(err, part.Truncate(0))
	}
	if err != nil {
		return err
	}
	if err := part.Truncate(from); err != nil {
		return err
	}
	if _, err := part.Seek(from, io.SeekStart); err != nil {
		return err
	}
	return o.copy(part, answer, file, from, idle)
}

// unreachable tells a network that is not there, where packets may get lost without a
// word, from a connection that was cut.
func (o Options) unreachable(ctx context.Context, connected bool, address string, err error) error {
	switch silent := ctx.Err() != nil && !errors.Is(err, context.DeadlineExceeded); {
	case silent && connected:
		return fmt.Errorf("%s: %w", address, errCut)
	case silent:
		err = fmt.Errorf("no answer within %v", o.Idle)
	}
	host := address
	if u, parseErr := url.Parse(address); parseErr == nil {
		host = u.Host
	}
	return fmt.Errorf("%s %w (%w)", host, ErrNoNetwork, err)
}

// begin says at which byte the answer begins.
func begin(answer *http.Response, file File, have int64) (int64, error) {
	switch answer.StatusCode {
	case http.StatusOK: // the server knows no ranges, or there was nothing yet
		return 0, nil
	case http.StatusPartialContent:
		first, _, ok := strings.Cut(strings.TrimPrefix(answer.Header.Get("Content-Range"), "bytes "), "-")
		if from, err := strconv.ParseInt(first, 10, 64); ok && err == nil && from == have {
			return from, nil
		}
		return 0, errRange
	case http.StatusRequestedRangeNotSatisfiable:
		return 0, errRange
	}
	return 0, &StatusError{URL: file.URL, Status: answer.StatusCode}
}

// copy writes the answer from its place on. A pause longer than Idle ends it.
func (o Options) copy(part *os.File, answer *http.Response, file File, at int64, idle *time.Timer) error {
	limit := file.Bytes
	if limit == 0 {
		limit = o.Limit
	}
	buffer := make([]byte, 64<<10)
	for {
		n, err := answer.Body.Read(buffer)
		idle.Reset(o.Idle)
		if at += int64(n); at > limit {
			return errors.Join(fmt.Errorf("%s gives more than the %d bytes expected, and is not used", file.URL, limit), part.Truncate(0))
		}
		if _, err := part.Write(buffer[:n]); err != nil {
			return fmt.Errorf("keep the download: %w", err)
		}
		o.report(at)
		switch {
		case errors.Is(err, io.EOF) && (file.Bytes == 0 || at == file.Bytes):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", file.URL, errCut)
		}
	}
}

func (o Options) report(bytes int64) {
	if o.Progress != nil {
		o.Progress(bytes)
	}
}
