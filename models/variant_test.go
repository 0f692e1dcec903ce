package models

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

func TestVariantsThatLie(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*Card)
		field string
	}{
		"precision unknown": {func(c *Card) { c.Variants[0].Precision = "int4" }, "variants.0.precision"},
		"twice":             {func(c *Card) { c.Variants = append(c.Variants, c.Variants[0]) }, "variants.1.precision"},
		"the model's file":  {func(c *Card) { c.Variants[0].File = c.File }, "variants.0.file"},
		"elsewhere":         {func(c *Card) { c.Variants[0].File = "../other.onnx" }, "variants.0.file"},
		"no checksum":       {func(c *Card) { c.Variants[0].SHA256 = "" }, "variants.0.sha256"},
		"no self-test":      {func(c *Card) { c.Variants[0].Golden = Golden{} }, "variants.0.golden.pattern"},
		"not measured":      {func(c *Card) { c.Variants[0].Measured = nil }, "variants.0.measured"},
		"impossible figure": {func(c *Card) { c.Variants[0].Measured = []Measurement{{Set: "a", AUC: 2}} }, "variants.0.measured.0.auc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			card := halved()
			c.spoil(&card)
			err := card.Validate()
			if wrong, ok := errors.AsType[*CardError](err); !ok || wrong.Field != c.field {
				t.Errorf("%v, want one of %s", err, c.field)
			}
		})
	}
}

// halvedFolder is a model folder with a variant.
func halvedFolder(t *testing.T, small []byte) fstest.MapFS {
	t.Helper()
	sum := func(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }
	card := halved()
	card.SHA256, card.Variants[0].SHA256 = sum(weights), sum(small)
	return fstest.MapFS{CardFile: {Data: encode(t, card)}, "model.onnx": {Data: weights}, "model-int8.onnx": {Data: small}}
}

func TestVariantIsAModel(t *testing.T) {
	t.Parallel()
	small := []byte("stands for fewer bits")
	model, err := Load(halvedFolder(t, small), ".")
	if err != nil {
		t.Fatal(err)
	}
	in := model.In(Int8)
	if in == nil || !bytes.Equal(in.ONNX, small) || in.Card.File != "model-int8.onnx" || in.Card.Golden.Output != 0.26 || in.Card.Variants != nil {
		t.Fatalf("%+v", in)
	}
	if in.Card.Name != model.Card.Name || !bytes.Equal(model.ONNX, weights) || len(model.Card.Variants) != 1 {
		t.Error("the model itself has changed, or the variant is another")
	}
	if in.In(Int8) != nil {
		t.Error("a variant has a variant")
	}
}

// TestVariantMayTellAsMuch: a variant that was measured on fewer files than its card had other
// limits, so that the confidence of a verdict hung on the precision that a machine ran.
func TestVariantMayTellAsMuch(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]*Pair{"limits of their own": {-1, 2}, "by the counts": nil} {
		card := halved()
		card.Calibration.Limits = limits
		card.Variants[0].Measured = []Measurement{{Set: "a few", AUC: .8, AUCInterval: Pair{.5, 1}, Real: 2, Fake: 3}}
		low, high := card.Limits()
		in := (&Model{Card: card, variants: [][]byte{nil}}).In(Int8)
		if l, h := in.Card.Limits(); l != low || h != high {
			t.Errorf("%s: the variant tells from %g to %g, the model from %g to %g", name, l, h, low, high)
		}
	}
}

// TestBothVariants: a card may have a variant for CPUs and one for GPUs.
func TestBothVariants(t *testing.T) {
	t.Parallel()
	files := halvedFolder(t, []byte("stands for fewer bits"))
	half := []byte("stands for half precision")
	card, err := Parse(files[CardFile].Data)
	if err != nil {
		t.Fatal(err)
	}
	second, sum := card.Variants[0], sha256.Sum256(half)
	second.Precision, second.File, second.SHA256 = FP16, "model-fp16.onnx", hex.EncodeToString(sum[:])
	card.Variants = append(card.Variants, second)
	files[CardFile].Data, files["model-fp16.onnx"] = encode(t, *card), &fstest.MapFile{Data: half}
	model, err := Load(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Precision{Int8, FP16} {
		if in := model.In(p); in == nil || in.Precision != p || in.Card.File != "model-"+string(p)+".onnx" {
			t.Errorf("%s: %+v", p, in)
		}
	}
}

func TestVariantOfAnotherCard(t *testing.T) {
	t.Parallel()
	files := halvedFolder(t, []byte("stands for fewer bits"))
	files["model-int8.onnx"] = &fstest.MapFile{Data: []byte("something else")}
	if _, err := Load(files, "."); err == nil || !strings.Contains(err.Error(), "is not that of model-int8.onnx") {
		t.Errorf("%v", err)
	}
	delete(files, "model-int8.onnx")
	if _, err := Load(files, "."); err == nil {
		t.Error("a variant without a file is loaded")
	}
}

func TestVariantsAreInstalled(t *testing.T) {
	t.Parallel()
	candidate, err := ReadCandidate(writeTree(t, halvedFolder(t, []byte("stands for fewer bits"))))
	if err != nil {
		t.Fatal(err)
	}
	target, err := candidate.Install(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	found, err := scanned(target)
	if err != nil || found[0].In(Int8) == nil {
		t.Errorf("%v, %v", found, err)
	}
}

// TestTF32 is the card's own file, whose self-test may be off as that of a variant may:
// on an H200 the picture model's was, by .0011 where its card allows .001.
func TestTF32(t *testing.T) {
	t.Parallel()
	model, err := Load(halvedFolder(t, []byte("stands for fewer bits")), ".")
	if err != nil {
		t.Fatal(err)
	}
	in := model.In(TF32)
	if !bytes.Equal(in.ONNX, weights) || in.Card.File != "model.onnx" || in.Card.Variants != nil || in.Card.Golden.Tolerance != tf32Tolerance {
		t.Errorf("%+v", in)
	}
	if told := in.Running(); told.Runs.Precision != TF32 || told.Golden.Tolerance != model.Card.Golden.Tolerance || len(told.Variants) != 1 {
		t.Errorf("%+v", told)
	}
}
