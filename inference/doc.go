// Package inference judges media: the Detector is the one use case (a file in,
// a verdict out), the Scheduler batches rows of concurrent requests for each
// model, and what the models say is fused in calibrated log-odds.
package inference
