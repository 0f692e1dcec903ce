// Package redact keeps passwords that stand in addresses out of logs and errors.
package redact
