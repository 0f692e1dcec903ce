package config

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml"
)

// fileLimit bounds the configuration file.
const fileLimit = 1 << 20

// Load reads a YAML file over the defaults: what it does not mention stays as
// in Default. The error names the line of a field that is unknown or has the
// wrong type. The values are not judged: call Validate when flags and
// environment have been laid over.
func Load(path string) (Config, error) {
	file, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, fileLimit+1))
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration %s: %w", path, err)
	}
	if len(text) > fileLimit {
		return Config{}, fmt.Errorf("the configuration %s is larger than %s", path, Size(fileLimit))
	}
	c, err := parse(text)
	if err != nil {
		return Config{}, fmt.Errorf("the configuration %s: %w", path, unquoted(err))
	}
	return c, nil
}

// unquoted leaves out the lines around a mistake, in which a password may stand.
func unquoted(err error) error {
	if placed, ok := errors.AsType[yaml.Error](err); ok && placed.GetToken() != nil {
		return errors.New(placed.FormatError(false, false))
	}
	return err
}
