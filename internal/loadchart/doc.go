// Package loadchart draws what a load test measured as PNG files: latency against
// load, and how latencies are distributed.
package loadchart
