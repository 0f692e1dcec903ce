//go:build !gocv_specific_modules

package decode

import "errors"

// errNoCodecs is what a build without the native libraries says to every file.
var errNoCodecs = errors.New("this build has no decoders: build with -tags gocv_specific_modules,gocv_videoio")

func decodeWAV(Source, *Arena) (Found, error) { return Found{}, errNoCodecs }

func decodeContainer(Source, *Arena) (Found, error) { return Found{}, errNoCodecs }
