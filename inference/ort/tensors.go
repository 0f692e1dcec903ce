package ort

import (
	"runtime"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"deepfaked/models"
)

// tensors are the input and output memory of a session's largest batch, and a
// view of their first rows for each warmed size. ONNX Runtime keeps pointers
// into both between runs, so they are pinned until destroy.
type tensors struct {
	rows    int // of the largest batch
	rowLen  int // elements of the input
	outLen  int // elements of the output
	u8      []byte
	f32     []float32
	output  []float32
	batches []*batch // ascending
	pins    runtime.Pinner
	locked  *pageLock // of the input; may be nil
}

// batch is the first size rows.
type batch struct {
	size    int
	session *ort.DynamicAdvancedSession
	inputs  []ort.Value
	outputs []ort.Value
	binding *ort.IoBinding // nil: values are passed with each run
}

// newTensors allocates for maxBatch rows of the card's input, the last of the sizes.
func newTensors(card models.Card, maxBatch int, sizes []int) (*tensors, error) {
	t := &tensors{rows: maxBatch, rowLen: card.Input.RowLen(), outLen: card.Output.RowLen()}
	t.output = make([]float32, maxBatch*t.outLen)
	t.pins.Pin(&t.output[0])
	if card.Input.Type == "uint8" {
		t.u8 = make([]byte, maxBatch*t.rowLen)
		t.pins.Pin(&t.u8[0])
	} else {
		t.f32 = make([]float32, maxBatch*t.rowLen)
		t.pins.Pin(&t.f32[0])
	}
	for _, size := range sizes {
		if err := t.newBatch(card, size); err != nil {
			t.destroy()
			return nil, err
		}
	}
	return t, nil
}

// sizes are 1, 2, 3, 4, 6, 8, 12, 16 and so on below maxBatch, and maxBatch. On a
// CPU a row costs the same in a batch of any size, so that what a batch is padded
// with costs too: less than half of the rows that were asked for, where powers
// of two alone would double them at worst. More sizes would take longer to warm up.
func sizes(maxBatch int) []int {
	var found []int
	for n := 1; n < maxBatch; n *= 2 {
		found = append(found, n)
		if between := n + n/2; n > 1 && between < maxBatch {
			found = append(found, between)
		}
	}
	return append(found, maxBatch)
}

// gpuSizes are 1, 4, 16 and so on below maxBatch, its half, and maxBatch: on a GPU a few rows
// cost hardly more than one, only large batches cost by the row, and each size takes
// seconds to warm up.
func gpuSizes(maxBatch int) []int {
	var found []int
	for n := 1; n < maxBatch/2; n *= 4 {
		found = append(found, n)
	}
	if maxBatch > 1 {
		found = append(found, maxBatch/2)
	}
	return append(found, maxBatch)
}

func (t *tensors) newBatch(card models.Card, size int) error {
	b := &batch{size: size}
	t.batches = append(t.batches, b)
	var input ort.Value
	var err error
	if t.u8 != nil {
		input, err = ort.NewTensor(shape(card.Input, size), t.u8)
	} else {
		input, err = ort.NewTensor(shape(card.Input, size), t.f32)
	}
	if err != nil {
		return err
	}
	b.inputs = []ort.Value{input}
	output, err := ort.NewTensor(shape(card.Output, size), t.output)
	if err != nil {
		return err
	}
	b.outputs = []ort.Value{output}
	return nil
}

// shape is the card's, with the batch filled in.
func shape(tensor models.Tensor, size int) ort.Shape {
	s := ort.NewShape(tensor.Shape...).Clone()
	s[0] = int64(size)
	return s
}

// bind binds the values once: right where the memory is the device's own. Elsewhere
// binding would copy the input at that moment and never again.
func (b *batch) bind(card models.Card) error {
	binding, err := b.session.CreateIoBinding()
	if err != nil {
		return err
	}
	b.binding = binding
	if err := binding.BindInput(card.Input.Name, b.inputs[0]); err != nil {
		return err
	}
	return binding.BindOutput(card.Output.Name, b.outputs[0])
}

func (b *batch) run() error {
	if b.binding != nil {
		return b.session.RunWithBinding(b.binding)
	}
	return b.session.Run(b.inputs, b.outputs)
}

// batch is the smallest one that holds n rows; n is at most rows.
func (t *tensors) batch(n int) *batch {
	for _, b := range t.batches {
		if b.size >= n {
			return b
		}
	}
	return t.batches[len(t.batches)-1]
}

func (t *tensors) sizes() []int {
	found := make([]int, len(t.batches))
	for i, b := range t.batches {
		found[i] = b.size
	}
	return found
}

func (t *tensors) row(i int) models.Row {
	from, to := i*t.rowLen, (i+1)*t.rowLen
	if t.u8 != nil {
		return models.Row{U8: t.u8[from:to:to]}
	}
	return models.Row{F32: t.f32[from:to:to]}
}

// lock has a GPU read the input by itself. It is for once the device's libraries are loaded.
func (t *tensors) lock(device int) {
	t.locked = lockPages(device, t.input())
}

// input is the memory of all rows.
func (t *tensors) input() []byte {
	if t.u8 != nil {
		return t.u8
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&t.f32[0])), len(t.f32)*int(unsafe.Sizeof(t.f32[0]))) //nolint:gosec // the same memory, in bytes
}

// destroy frees what ONNX Runtime holds and unpins the memory, which stays
// with whoever still has a row. The session must still exist.
func (t *tensors) destroy() {
	for _, b := range t.batches {
		if b.binding != nil {
			b.binding.Destroy() //nolint:errcheck,gosec // never fails
			b.binding = nil
		}
		for _, v := range append(b.inputs, b.outputs...) {
			v.Destroy() //nolint:errcheck,gosec // never fails
		}
		b.inputs, b.outputs = nil, nil
	}
	t.locked.unlock()
	t.locked = nil
	t.pins.Unpin()
}
