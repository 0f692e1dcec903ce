package adapt

import (
	"encoding/binary"
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields and types in onnx.proto. They are part of the format and
// never change.
const (
	modelGraph       = 7
	graphNode        = 1
	graphInitializer = 5
	graphInput       = 11
	graphOutput      = 12
	tensorName       = 8
	valueName        = 1
	typeFloat        = 1
	typeUint8        = 2
)

// errWire says that bytes are no protocol buffer message.
var errWire = errors.New("the file is damaged, or no ONNX model")

// field is one field of a protocol buffer message; body is empty for numbers.
type field struct {
	number      int
	whole, body []byte
}

// split reads the fields of a message in their order.
func split(data []byte) (fields []field, err error) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeField(data)
		if n < 0 {
			return nil, errWire
		}
		f := field{number: int(number), whole: data[:n]}
		if kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(data)
			f.body, _ = protowire.ConsumeBytes(data[tag:])
		}
		fields, data = append(fields, f), data[n:]
	}
	return fields, nil
}

// only returns the fields of the one message of that number.
func only(fields []field, number int) ([]field, error) {
	var found []field
	for _, f := range fields {
		if f.number == number {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return nil, errWire
	}
	return split(found[0].body)
}

// text is the string field of that number in a message; empty when there is none.
func text(message []byte, number int) string {
	fields, _ := split(message)
	for _, f := range fields {
		if f.number == number {
			return string(f.body)
		}
	}
	return ""
}

// rank is the number of dimensions of a ValueInfoProto; 0 when it has none.
func rank(info []byte) (dimensions int) {
	fields, err := split(info)
	for _, number := range []int{2, 1, 2} { // type, tensor_type, shape
		if err != nil {
			return 0
		}
		fields, err = only(fields, number)
	}
	if err != nil {
		return 0
	}
	return len(fields)
}

// message appends a field that holds a message, a string or bytes.
func message[T []byte | string](to []byte, field protowire.Number, body T) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), []byte(body))
}

func number(to []byte, field protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), uint64(v)) //nolint:gosec // G115: two's complement is the format
}

// node is a NodeProto of one output.
func node(op string, inputs []string, output string, attribute []byte) (n []byte) {
	for _, in := range inputs {
		n = message(n, 1, in)
	}
	n = message(n, 2, output)
	n = message(n, 4, op)
	if attribute != nil {
		n = message(n, 5, attribute)
	}
	return n
}

// attribute is an AttributeProto of one integer, or of a list of several.
func attribute(name string, values ...int64) []byte {
	const integer, integers = 2, 7
	a := message([]byte(nil), 1, name)
	if len(values) == 1 {
		return number(number(a, 3, values[0]), 20, integer)
	}
	for _, v := range values {
		a = number(a, 8, v)
	}
	return number(a, 20, integers)
}

// vector is a TensorProto of one dimension.
func vector(name string, values []float32) []byte {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	t := number(number(nil, 1, int64(len(values))), 2, typeFloat)
	return message(message(t, tensorName, name), 9, raw)
}

// value is a ValueInfoProto; a dimension of -1 is open.
func value(name string, element int64, shape ...int64) []byte {
	var dimensions []byte
	for _, d := range shape {
		if d < 0 {
			dimensions = message(dimensions, 1, message([]byte(nil), 2, "n"))
			continue
		}
		dimensions = message(dimensions, 1, number(nil, 1, d))
	}
	tensor := message(number(nil, 1, element), 2, dimensions)
	return message(message([]byte(nil), valueName, name), 2, message([]byte(nil), 1, tensor))
}
