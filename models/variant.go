package models

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
)

// Precision says in which numbers a model calculates.
type Precision string

// Full is that of a card's own file, the others are those of variants.
const (
	Full Precision = "full"
	Int8 Precision = "int8" // products of bytes, for processors that have instructions for sums of them
	FP16 Precision = "fp16" // half precision, for GPUs
	TF32 Precision = "tf32" // the card's own file, of whose factors a GPU keeps ten bits in products (TensorFloat-32)
)

// tf32Tolerance is how far the self-test may be off in TF32, as that of a variant may;
// cards say how exact full precision is. Seen on an H200: .001.
const tf32Tolerance = 0.02

// Variant is a model in another precision. It takes the same rows and gives
// log-odds on the same scale, so that calibration and operating points hold, and
// what it costs in accuracy stands in Measured, whose sets are those of the card.
type Variant struct {
	Precision Precision     `json:"precision"`
	File      string        `json:"file"`   // file name inside the folder
	SHA256    string        `json:"sha256"` // of File, lower-case hex
	Golden    Golden        `json:"golden"`
	Measured  []Measurement `json:"measured"`
}

// In returns the model in precision p, or nil where it has no such variant; each has
// TF32. What it returns is a model like any other: its card names the variant's file,
// checksum, self-test and measurements, and no variants.
func (m *Model) In(p Precision) *Model {
	if p == TF32 {
		return m.inTF32()
	}
	i := slices.IndexFunc(m.Card.Variants, func(v Variant) bool { return v.Precision == p })
	if i < 0 {
		return nil
	}
	whole := m.Card // a copy: a pointer into m would keep the files of all precisions in memory
	return &Model{Card: whole.as(whole.Variants[i]), ONNX: m.variants[i], Weights: m.Weights, Precision: p, whole: &whole}
}

// inTF32 is the same file, whose self-test need not come out as exactly.
func (m *Model) inTF32() *Model {
	whole := m.Card
	own := whole
	own.Variants, own.Golden.Tolerance = nil, max(own.Golden.Tolerance, tf32Tolerance)
	return &Model{Card: own, ONNX: m.ONNX, Weights: m.Weights, Precision: TF32, whole: &whole}
}

// as is the card of a variant. What may be told is as much as of the card, whose calibration
// it shares, and does not hang on how many files the variant was measured on.
func (c *Card) as(v Variant) Card {
	own := *c
	low, high := c.Limits()
	own.Calibration.Limits = &Pair{low, high}
	own.File, own.SHA256, own.Golden, own.Measured, own.Variants = v.File, v.SHA256, v.Golden, v.Measured, nil
	return own
}

// loadVariants reads the files of the card's variants.
func (m *Model) loadVariants(fsys fs.FS, dir string) error {
	for _, v := range m.Card.Variants {
		onnx, err := loadFile(fsys, dir, m.Card.as(v))
		if err != nil {
			return err
		}
		m.variants = append(m.variants, onnx)
	}
	return nil
}

// checkVariants checks each as what it is: the card's model with another file.
func checkVariants(c *Card) error {
	files, seen := []string{c.File}, []Precision{}
	for i, v := range c.Variants {
		field := "variants." + strconv.Itoa(i) + "."
		switch {
		case v.Precision != Int8 && v.Precision != FP16:
			return wrong(field+"precision", "is %q, it must be %s or %s", v.Precision, Int8, FP16)
		case slices.Contains(seen, v.Precision):
			return wrong(field+"precision", "is that of another variant")
		case slices.Contains(files, v.File):
			return wrong(field+"file", "is %q like that of another precision", v.File)
		case len(v.Measured) == 0:
			return wrong(field+"measured", "must hold what the variant was measured at")
		}
		own := c.as(v)
		for _, check := range []func(*Card) error{checkFile, checkGolden, checkMeasured} {
			if err := check(&own); err != nil {
				return below(field, err)
			}
		}
		files, seen = append(files, v.File), append(seen, v.Precision)
	}
	return nil
}

// below puts the field of a CardError under another.
func below(field string, err error) error {
	if inner, ok := errors.AsType[*CardError](err); ok {
		return &CardError{Field: field + inner.Field, Reason: inner.Reason}
	}
	return err
}
