package models

// Row is the place of one row inside a batch's input tensor: exactly one of the
// two is set, after the input type of the model's card. Whoever fills it writes
// the tensor's own memory.
type Row struct {
	U8  []byte
	F32 []float32
}
