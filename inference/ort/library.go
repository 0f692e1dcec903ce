package ort

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Version is the ONNX Runtime that set-up installs and that tests ran with.
const Version = "1.31.1"

// minor is the oldest 1.x release that has the C API this binary was built for.
const minor = 29

const libraryName = "libonnxruntime.so." + Version

// FindLibrary returns the absolute path of the shared library for a provider:
// explicit when it is not empty, else the first that exists of the copy that
// set-up put into the user's cache folder (for CUDA and Auto the GPU build
// first) and lib/ beside the executable. The error wraps ErrNoLibrary and names
// where it looked.
func FindLibrary(explicit string, provider Provider) (string, error) {
	if explicit != "" {
		return firstFile([]string{explicit})
	}
	return firstFile(standard(provider))
}

// firstFile is the first that is there to be read. A folder that can't be looked
// into, as the cache of an account without a home, does not hide the others.
func firstFile(candidates []string) (string, error) {
	looked := make([]string, len(candidates))
	for i, path := range candidates {
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() {
			return filepath.Abs(path)
		}
		looked[i] = path
		if why, ok := errors.AsType[*fs.PathError](err); ok && !errors.Is(err, fs.ErrNotExist) {
			looked[i] += " (" + why.Err.Error() + ")"
		}
	}
	return "", fmt.Errorf("%w (looked for %s)", ErrNoLibrary, strings.Join(looked, ", "))
}

// standard lists the places of an installed library, best first. Folders that
// the system can't tell (no home) are left out.
func standard(provider Provider) []string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = ""
	}
	var beside string
	if exe, err := os.Executable(); err == nil {
		beside = filepath.Join(filepath.Dir(exe), "lib")
	}
	return places(provider, cache, beside)
}

func places(provider Provider, cache, beside string) []string {
	var found []string
	builds := []string{"onnxruntime-gpu", "onnxruntime"}
	if provider == CPU {
		builds = []string{"onnxruntime", "onnxruntime-gpu"}
	}
	if cache != "" {
		for _, build := range builds {
			found = append(found, filepath.Join(cache, "deepfaked", build, Version, libraryName))
		}
	}
	if beside != "" {
		found = append(found, filepath.Join(beside, libraryName))
	}
	return found
}

// checkVersion refuses a library whose C API this binary does not speak.
func checkVersion(version string) error {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) == 3 && parts[0] == "1" {
		if n, err := strconv.Atoi(parts[1]); err == nil && n >= minor {
			return nil
		}
	}
	return fmt.Errorf("ONNX Runtime %s is not supported, 1.%d or later is needed (tested: %s): run make setup", version, minor, Version)
}
