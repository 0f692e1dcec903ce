//go:build !gocv_specific_modules

package decode

import "errors"

// errNoOpenCV says how to build what this binary lacks.
var errNoOpenCV = errors.New("built without OpenCV: build with -tags gocv_specific_modules,gocv_videoio")

// prepare does nothing without OpenCV.
func prepare() {}

// decodeImage decodes nothing without OpenCV.
func decodeImage(Source, *Arena) (Found, error) { return Found{}, errNoOpenCV }
