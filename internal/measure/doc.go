// Package measure says how good a detector is, from the scores that it gave to
// genuine and to fake files: ROC, AUC with its interval, equal error rate,
// expected calibration error, and the rates of a decision. A figure that cannot
// be had, such as an AUC without fakes, is NaN.
package measure
