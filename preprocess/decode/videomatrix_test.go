package decode

import (
	"math"
	"testing"
)

// TestBT709InPlaceOfBT601 has a green in BT.709, converted by the factors that are printed
// for BT.601: 1.772, .344136, .714136 and 1.402.
func TestBT709InPlaceOfBT601(t *testing.T) {
	t.Parallel()
	converted, want := [3]float64{63.5, 203.7, 42.0}, [3]float64{60, 180, 30}
	for row, values := range lumas[1].inPlaceOf(undeclared) {
		var got float64
		for column, value := range values {
			got += value * converted[column]
		}
		if math.Abs(got-want[row]) > 0.1 {
			t.Errorf("channel %d is %.2f, want %.0f", row, got, want[row])
		}
	}
}

func TestGreyStaysGrey(t *testing.T) {
	t.Parallel()
	for number, l := range lumas {
		for row, values := range l.inPlaceOf(undeclared) {
			if sum := values[0] + values[1] + values[2]; math.Abs(sum-1) > 1e-12 {
				t.Errorf("matrix %d, channel %d: white becomes %v", number, row, sum)
			}
		}
	}
}
