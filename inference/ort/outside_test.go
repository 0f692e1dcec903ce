package ort

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// nested puts a message into fields of others, the innermost first.
func nested(message []byte, fields ...protowire.Number) []byte {
	for _, f := range fields {
		message = protowire.AppendBytes(protowire.AppendTag(nil, f, protowire.BytesType), message)
	}
	return message
}

// lies is the field of a tensor that says where its numbers are.
func lies(at uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, dataLocation, protowire.VarintType), at)
}

// TestWeightsInAnotherFile: models add took what PyTorch writes as model.onnx and
// model.onnx.data, where it was called in their folder. The service, which runs in another one,
// never became ready, and nothing noticed when the weights were changed.
func TestWeightsInAnotherFile(t *testing.T) {
	env := openEnvironment(t, nil)
	m := bytesModel(t)
	m.ONNX = slices.Concat(m.ONNX, nested(lies(1), 5, 7)) // one more initializer
	_, err := env.NewSession(m, 1)
	graph, ok := errors.AsType[*GraphError](err)
	if !ok || graph.Field != "file" || !strings.Contains(err.Error(), "save_as_external_data=False") {
		t.Errorf("error is %v, want a GraphError of file that says what to do", err)
	}
}

func TestOutside(t *testing.T) {
	t.Parallel()
	whole := onnx(t, "bytes")
	entry := slices.Concat(nested([]byte("location"), 1), nested([]byte("w.bin"), 2))
	for name, c := range map[string]struct {
		more []byte
		want bool
	}{
		"nothing more":          {nil, false},
		"an initializer":        {nested(lies(1), 5, 7), true},
		"no location":           {nested(entry, externalData, 5, 7), true},
		"in the tensor":         {nested(lies(0), 5, 7), false},
		"a sparse one's":        {nested(lies(1), 1, 15, 7), true},
		"its places":            {nested(lies(1), 2, 15, 7), true},
		"a constant":            {nested(lies(1), 5, 5, 1, 7), true},
		"several":               {nested(lies(1), 10, 5, 1, 7), true},
		"sparse constants":      {nested(lies(1), 1, 23, 5, 1, 7), true},
		"within a branch":       {nested(lies(1), 5, 6, 5, 1, 7), true},
		"within a function":     {nested(lies(1), 5, 5, 7, 25), true},
		"a function's default":  {nested(lies(1), 5, 11, 25), true},
		"of training":           {nested(lies(1), 5, 1, 20), true},
		"a name like a tensor":  {nested(lies(1), 2, 7), false},
		"a number like a graph": {protowire.AppendVarint(protowire.AppendTag(nil, 7, protowire.VarintType), 1), false},
	} {
		if got := len(outside(slices.Concat(whole, c.more))) > 0; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestOutsideIsNotLedOn: messages in each other without end end with an error of ONNX Runtime, not of a stack.
func TestOutsideIsNotLedOn(t *testing.T) {
	t.Parallel()
	message := lies(1)
	for range 1000 {
		message = nested(message, 6, 5, 1) // a graph of a node with an attribute
	}
	if len(outside(nested(message, 7))) > 0 {
		t.Error("it was read to its end")
	}
}

// FuzzOutside holds that no bytes make it panic, and that what lies outside is found behind any other fields.
func FuzzOutside(f *testing.F) {
	f.Add(onnx(f, "bytes"))
	f.Add(nested(lies(1), 5, 7))
	f.Add(bytes.Repeat([]byte{0xff}, 20))
	f.Fuzz(func(t *testing.T, data []byte) {
		found := outside(data)
		for rest := data; len(rest) > 0; {
			_, _, n := protowire.ConsumeField(rest)
			if n < 0 {
				return // it is no message
			}
			rest = rest[n:]
		}
		if more := outside(slices.Concat(data, nested(lies(1), 5, 7))); len(more) != len(found)+1 {
			t.Errorf("found %q alone, and %q with one behind it", found, more)
		}
	})
}
