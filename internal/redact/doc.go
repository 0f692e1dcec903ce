// Package redact keeps passwords and keys that stand in addresses out of logs and errors.
package redact
