// Package config is the configuration of the service: its defaults, the YAML
// file that may change them, and what values make sense. Flags and environment
// variables are laid over it by cmd/deepfaked.
package config
