// Package account knows who may use the service and how much: accounts and
// their API keys, plans, the ledger of reserved and used scans, the detections
// an account has submitted, and the limit on requests per minute.
package account
