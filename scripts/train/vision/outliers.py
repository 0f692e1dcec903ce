"""Products with weights in 8 bits, but for the few channels that are far larger than the others.

What a transformer's weights are multiplied with has a few channels that are ten times as large as the rest; one scale for all of them leaves
the rest few steps. So the scale is that of the rest, and what the large ones exceed it by is multiplied in float and added
(Dettmers and others, "LLM.int8()", NeurIPS 2022, keep such channels apart, too).
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper

from vision import export

OUTLIERS = 32  # channels of each product that may exceed the scale
LEVELS = 255


def quantise(source, target, rows, part="", apart=OUTLIERS):
    """Writes the graph source with its products (Gemm) whose weights' names hold part in 8 bits to target; the rows show which values occur."""
    model = onnx.load(source)
    graph, stored = model.graph, {i.name: i for i in model.graph.initializer}
    chosen = [n for n in graph.node if n.op_type == "Gemm" and n.input[1] in stored and part in n.input[1]]
    if not chosen:
        raise ValueError(f"{source} has no product whose weights are named {part}")
    low, high = ranges(source, sorted({n.input[0] for n in chosen}), rows)
    nodes, inputs = [], {}
    for node in graph.node:
        if not any(node is one for one in chosen):
            nodes.append(node)
            continue
        name = node.input[0]
        if name not in inputs:
            inputs[name] = Rounded(graph, name, low[name], high[name], apart)
            nodes += inputs[name].nodes
        nodes += product(graph, node, inputs[name], numpy_helper.to_array(stored[node.input[1]]), numpy_helper.to_array(stored[node.input[2]]))
    del graph.node[:]
    graph.node.extend(nodes)
    used = {name for n in graph.node for name in n.input}
    kept = [i for i in graph.initializer if i.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    onnx.save(model, target)


def ranges(source, names, rows):
    """The least and the greatest value of each channel of the named values."""
    model = onnx.load(source)
    model.graph.output.extend(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names)
    onnx.save(model, f"{source}.ranges")
    session, low, high = export.session(f"{source}.ranges"), {}, {}
    for k in range(0, len(rows), 4):
        for name, values in zip(names, session.run(names, {"pixels": rows[k : k + 4]})):
            values = values.reshape(-1, values.shape[-1])
            low[name] = np.minimum(low.get(name, np.inf), values.min(0))
            high[name] = np.maximum(high.get(name, -np.inf), values.max(0))
    return low, high


class Rounded:
    """What is multiplied, in 8 bits, and what its largest channels exceed their range by."""

    def __init__(self, graph, name, low, high, apart):
        """Adds the constants to the graph; nodes are what is put before the products."""
        self.graph, self.name, self.prefix = graph, name, "rounded" + name.replace("/", "_")
        size = np.maximum(-low, high)
        self.apart = np.sort(np.argsort(-size, kind="stable")[:apart])
        rest = np.setdiff1d(np.arange(len(size)), self.apart)
        self.scale = np.float32((max(high[rest].max(), 0) - min(low[rest].min(), 0)) / LEVELS)
        zero = int(np.clip(round(-min(low[rest].min(), 0) / self.scale), 0, LEVELS))
        scale, point = self.constant("scale", self.scale), self.constant("zero", np.uint8(zero))
        ends = [self.constant("least", np.float32(-zero * self.scale)), self.constant("most", np.float32((LEVELS - zero) * self.scale))]
        self.nodes = [
            helper.make_node("QuantizeLinear", [name, scale, point], [self.prefix + "_q"]),
            helper.make_node("DequantizeLinear", [self.prefix + "_q", scale, point], [self.prefix + "_d"]),
            helper.make_node("Gather", [name, self.constant("apart", self.apart.astype(np.int64))], [self.prefix + "_g"], axis=1),
            helper.make_node("Clip", [self.prefix + "_g", *ends], [self.prefix + "_c"]),
            helper.make_node("Sub", [self.prefix + "_g", self.prefix + "_c"], [self.prefix + "_e"]),
        ]

    def constant(self, name, values):
        """Adds a constant to the graph; returns its name."""
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(values), f"{self.prefix}_{name}"))
        return f"{self.prefix}_{name}"


def product(graph, node, rounded, weight, bias):
    """The nodes in place of one product: in 8 bits, and what is added in float."""
    name = node.input[1]
    scale = (np.abs(weight).max(0) / 127).astype(np.float32)
    whole = np.rint(weight / scale).astype(np.int8)
    both = (rounded.scale * scale).astype(np.float32)

    def constant(part, values):
        graph.initializer.append(numpy_helper.from_array(values, f"{name}_{part}"))
        return f"{name}_{part}"

    weights = [constant("byte", whole), constant("scale", scale), constant("zero", np.zeros(len(scale), np.int8))]
    biases = [constant("bias", np.rint(bias / both).astype(np.int32)), constant("bias_scale", both), constant("bias_zero", np.zeros(len(scale), np.int32))]
    # The rows of the large channels are taken out of the weights in 8 bits when ONNX Runtime loads the graph, so that they are kept once.
    return [
        helper.make_node("Gather", [name + "_byte", rounded.prefix + "_apart"], [name + "_rows"], axis=0),
        helper.make_node("Cast", [name + "_rows"], [name + "_float"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Mul", [name + "_float", name + "_scale"], [name + "_apart"]),
        helper.make_node("DequantizeLinear", weights, [name + "_d"], axis=1),
        helper.make_node("DequantizeLinear", biases, [name + "_bd"], axis=0),
        helper.make_node("Gemm", [rounded.prefix + "_d", name + "_d", name + "_bd"], [name + "_m"], name=node.name),
        helper.make_node("MatMul", [rounded.prefix + "_e", name + "_apart"], [name + "_a"]),
        helper.make_node("Add", [name + "_m", name + "_a"], [node.output[0]]),
    ]
