#!/usr/bin/env python3
"""Write the tiny ONNX graphs that inference/ort and cmd/deepfaked are tested with, and the probe.

They are committed; run this only to change them (needs the onnx package):
    python3 scripts/test-models.py inference/ort
"""
import pathlib
import struct
import sys

import onnx
from onnx import TensorProto as T
from onnx import helper as h


def constant(name, value):
    return h.make_node("Constant", [], [name], value=h.make_tensor(name, T.FLOAT, [], [value]))


def save(folder, name, nodes, inputs, outputs):
    graph = h.make_graph(nodes, name, inputs, outputs)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())


def mean(kind, axes, keep):
    """8 * (mean of a row / 255 - 0.5) for bytes, 3 * mean + 0.25 for floats."""
    scale, bias = (8 / 255, -4.0) if kind == T.UINT8 else (3.0, 0.25)
    return [
        h.make_node("Cast", ["x"], ["f"], to=T.FLOAT),
        h.make_node("ReduceMean", ["f"], ["m"], axes=axes, keepdims=0),
        constant("s", scale), constant("b", bias),
        h.make_node("Mul", ["m", "s"], ["ms"]),
        h.make_node("Add", ["ms", "b"], ["z" if keep else "y"]),
    ] + ([h.make_node("Unsqueeze", ["z", "one"], ["y"])] if keep else [])


def half(nodes):
    """The same numbers, reckoned in half precision and given back in single."""
    return [
        h.make_node("Cast", n.input, n.output, to=T.FLOAT16) if n.op_type == "Cast"
        else h.make_node("Constant", [], n.output, value=h.make_tensor(n.output[0], T.FLOAT16, [], list(n.attribute[0].t.float_data)))
        if n.op_type == "Constant" else n
        for n in nodes
    ] + [h.make_node("Cast", ["h"], ["z"], to=T.FLOAT)]


def scaled(nodes):
    """The same numbers by one scale of the whole batch in 8 bits, as dynamic quantisation has it: rows depend on each other."""
    *nodes, last = nodes
    return [
        *nodes,
        h.make_node("DynamicQuantizeLinear", ["z"], ["q", "qs", "qz"]),
        h.make_node("DequantizeLinear", ["q", "qs", "qz"], ["d"]),
        h.make_node(last.op_type, ["d", *last.input[1:]], last.output),
    ]


def products():
    """The same numbers for bytes, as sums of products with weights in 8 bits, two of which do not fit into 16 bits."""
    return [
        h.make_node("Flatten", ["x"], ["row"]),
        h.make_node("Constant", [], ["w"], value=h.make_tensor("w", T.INT8, [48, 1], [127] * 48)),
        h.make_node("MatMulInteger", ["row", "w"], ["sum"]),
        h.make_node("Cast", ["sum"], ["f"], to=T.FLOAT),
        constant("s", 8 / 255 / 48 / 127), constant("b", -4.0),
        h.make_node("Mul", ["f", "s"], ["fs"]),
        h.make_node("Add", ["fs", "b"], ["y"]),
    ]


def borrowed(folder, inputs, outputs):
    """The same numbers for bytes, as products with weights in another file, behind 64 bytes of something else."""
    weights = h.make_tensor("w", T.FLOAT, [48, 1], struct.pack("<48f", *[8 / 255 / 48] * 48), raw=True)
    (folder / "borrowed.bin").write_bytes(bytes(64) + weights.raw_data)
    weights.ClearField("raw_data")
    weights.data_location = T.EXTERNAL
    for key, value in ("location", "borrowed.bin"), ("offset", "64"), ("length", "192"):
        weights.external_data.add(key=key, value=value)
    nodes = [h.make_node("Flatten", ["x"], ["row"]), h.make_node("Cast", ["row"], ["f"], to=T.FLOAT), constant("b", -4.0),
             h.make_node("MatMul", ["f", "w"], ["fs"]), h.make_node("Add", ["fs", "b"], ["y"])]
    graph = h.make_graph(nodes, "borrowed", inputs, outputs, [weights])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    (folder / "borrowed.onnx").write_bytes(model.SerializeToString())
    onnx.checker.check_model(str(folder / "borrowed.onnx"))


def main(folder):
    one = h.make_node("Constant", [], ["one"], value=h.make_tensor("one", T.INT64, [1], [1]))
    tensor = h.make_tensor_value_info
    save(folder, "bytes", [one, *mean(T.UINT8, [1, 2, 3], True)],
         [tensor("x", T.UINT8, ["n", 4, 4, 3])], [tensor("y", T.FLOAT, ["n", 1])])
    *nodes, last = mean(T.UINT8, [1, 2, 3], True)
    nodes[-1].output[0] = "h"
    save(folder, "half", [one, *half(nodes), last],
         [tensor("x", T.UINT8, ["n", 4, 4, 3])], [tensor("y", T.FLOAT, ["n", 1])])
    save(folder, "mixed", [one, *scaled(mean(T.UINT8, [1, 2, 3], True))],
         [tensor("x", T.UINT8, ["n", 4, 4, 3])], [tensor("y", T.FLOAT, ["n", 1])])
    save(folder, "products", products(),
         [tensor("x", T.UINT8, ["n", 4, 4, 3])], [tensor("y", T.FLOAT, ["n", 1])])
    borrowed(folder, [tensor("x", T.UINT8, ["n", 4, 4, 3])], [tensor("y", T.FLOAT, ["n", 1])])
    save(folder, "floats", mean(T.FLOAT, [1], False),
         [tensor("x", T.FLOAT, ["n", 16])], [tensor("y", T.FLOAT, ["n"])])
    save(folder, "fixed", [one, *mean(T.UINT8, [1, 2, 3], True)],
         [tensor("x", T.UINT8, [1, 4, 4, 3])], [tensor("y", T.FLOAT, [1, 1])])
    save(folder, "two-inputs", [h.make_node("Add", ["x", "w"], ["y"])],
         [tensor("x", T.FLOAT, ["n"]), tensor("w", T.FLOAT, ["n"])], [tensor("y", T.FLOAT, ["n"])])
    save(pathlib.Path("cmd/deepfaked/testdata"), "published",
         [h.make_node("ReduceMean", ["pixel_values"], ["m"], axes=[1, 2, 3], keepdims=0), one,
          h.make_node("Unsqueeze", ["m", "one"], ["logits"])],
         [tensor("pixel_values", T.FLOAT, ["n", 3, 384, 384])], [tensor("logits", T.FLOAT, ["n", 1])])
    save(folder.parent, "probe", [h.make_node("Add", ["x", "x"], ["y"])],
         [tensor("x", T.FLOAT, [1])], [tensor("y", T.FLOAT, [1])])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]) / "testdata")
