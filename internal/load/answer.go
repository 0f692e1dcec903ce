package load

import (
	"context"
	"time"
)

// Call makes one request and waits for its end, or for that of ctx. It is called
// once.
type Call func(ctx context.Context) Answer

// Source picks the next request. It is never called concurrently.
type Source func() Call

// Answer is how a request ended.
type Answer struct {
	Mode     string // what latencies are told apart by
	OK       bool
	Statuses []int          // of every HTTP answer on the way, in order
	Messages map[int]string // what the first answer of a status said of itself
	Error    string         // what went wrong without a status, in words that are counted
}

// event is a request with its times. One that was due but never sent has only
// that.
type event struct {
	Answer
	due, sent, done time.Time
	fate            fate
}

// fate tells what became of a request.
type fate int

const (
	answered   fate = iota
	unsent          // sending ended before there was a connection for it
	timedOut        // was given up after its time
	unfinished      // the run was ended while it went on
)
