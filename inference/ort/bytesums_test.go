package ort

import "testing"

// TestSumsOfBytesAreExact: on processors of amd64 without VNNI the sum of two products of bytes
// ends at 32,767, where the built-in face model in 8 bits said of 50 faces on average .28 more in log-odds
// than it should, which its self-test, of one row, happened not to show. The picture model's
// did, so that pictures were judged in full precision, more slowly.
func TestSumsOfBytesAreExact(t *testing.T) {
	env := openEnvironment(t, nil)
	s := newTestSession(t, env, productsModel(t), 4)
	for n := 1; n <= 4; n++ {
		checkRun(t, s, n, n*10)
	}
}
