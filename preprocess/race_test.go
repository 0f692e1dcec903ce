//go:build race

package preprocess_test

// raceDetector says whether it is on.
const raceDetector = true
