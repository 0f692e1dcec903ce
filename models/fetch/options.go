package fetch

import (
	"errors"
	"net"
	"net/http"
	"time"
)

// File is what is to be fetched.
type File struct {
	URL    string
	SHA256 string // lower-case hex
	Bytes  int64  // 0: not known
}

// Options bound a download.
type Options struct {
	Client   *http.Client      // must not limit the time of a whole answer
	Idle     time.Duration     // without a byte, then the connection is given up
	Limit    int64             // bytes of a file whose size is not known
	Attempts int               // in a row that bring no byte, then the download is given up
	Progress func(bytes int64) // is called with what a file has so far, by one goroutine at a time; may be nil
}

// DefaultOptions wait 30 seconds at most for whatever is to come next.
func DefaultOptions() Options {
	const patience = 30 * time.Second
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: patience}).DialContext,
		TLSHandshakeTimeout:   patience,
		ResponseHeaderTimeout: patience,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true, // a range of what is compressed is not one of the file
	}
	return Options{Client: &http.Client{Transport: transport}, Idle: patience, Limit: 1 << 30, Attempts: 3}
}

// Validate names the first field that makes no sense.
func (o Options) Validate() error {
	switch {
	case o.Client == nil:
		return errors.New("fetch: client must be set")
	case o.Idle <= 0:
		return errors.New("fetch: idle must be positive")
	case o.Limit <= 0:
		return errors.New("fetch: limit must be positive")
	case o.Attempts < 1:
		return errors.New("fetch: attempts must be positive")
	}
	return nil
}
