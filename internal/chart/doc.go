// Package chart draws how good a detector is as PNG files: ROC, DET curve,
// reliability diagram and histogram of P(fake).
package chart
