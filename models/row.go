package models

// Row is the memory of one row of a model's input batch: the field that fits
// the type of the card's input is set, the other is nil.
type Row struct {
	U8  []byte
	F32 []float32
}

// RowLen is the number of elements of one row: the product of all dimensions
// but the batch. The tensor must be that of a valid card.
func (t Tensor) RowLen() int {
	n := int64(1)
	for _, d := range t.Shape[1:] {
		n *= d
	}
	return int(n)
}

// Fill writes the self-test's pattern into row.
func (g Golden) Fill(row Row) {
	for i := range row.U8 {
		row.U8[i] = lcg(i)
	}
	for i := range row.F32 {
		row.F32[i] = float32((float64(lcg(i))/255 - 0.5) * 0.2)
	}
}

// lcg is the upper byte of one step of the linear congruential generator of
// Knuth and Lewis (multiplier 2654435761), taken at i.
func lcg(i int) byte {
	return byte((uint32(i)*2654435761 + 1013904223) >> 24) //nolint:gosec // G115: the wrap-around is the generator
}
