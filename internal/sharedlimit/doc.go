// Package sharedlimit counts requests for several processes together, in Redis,
// and for this process alone while Redis is away.
package sharedlimit
