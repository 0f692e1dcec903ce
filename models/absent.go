package models

import (
	"encoding/json"
	"math"
)

// uncounted is a count that is absent.
const uncounted = math.MinInt

// UnmarshalJSON leaves figures that are absent at NaN and counts at uncounted, which Validate
// refuses: as of numbers of Go, nobody could tell them from a measured 0.
func (m *Measurement) UnmarshalJSON(data []byte) error {
	type plain Measurement // without this method
	nan := math.NaN()
	*m = Measurement{AUC: nan, AUCInterval: Pair{nan, nan}, EER: nan, Real: uncounted, Fake: uncounted}
	return json.Unmarshal(data, (*plain)(m))
}

// UnmarshalJSON does the same.
func (m *BoxMeasurement) UnmarshalJSON(data []byte) error {
	type plain BoxMeasurement // without this method
	nan := math.NaN()
	*m = BoxMeasurement{Precision: nan, PrecisionInterval: Pair{nan, nan}, Recall: nan, RecallInterval: Pair{nan, nan}}
	return json.Unmarshal(data, (*plain)(m))
}

// UnmarshalJSON does the same with an absent output, which a model may well answer with 0.
func (g *Golden) UnmarshalJSON(data []byte) error {
	type plain Golden // without this method
	*g = Golden{Output: math.NaN()}
	return json.Unmarshal(data, (*plain)(g))
}
