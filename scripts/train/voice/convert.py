"""models/builtin/voice-activity/model.onnx from the wheel of silero-vad 6.2.3.

    pip download --no-deps silero-vad==6.2.3 && unzip silero_vad-6.2.3-*.whl
    python scripts/train/voice/convert.py silero_vad/data/silero_vad_16k_sequence.onnx model.onnx

The original is shown one chunk of 32 ms after another and hands its state on. Here a row is a whole window, whose
chunks are cut in the graph; the state begins anew with each window, as it does with a file. Answers are log-odds.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

SAMPLES, CHUNK, CONTEXT = 64000, 512, 64
STEPS = SAMPLES // CHUNK
src = onnx.load(sys.argv[1])
w = {t.name: nh.to_array(t) for t in src.graph.initializer}
init, nodes = [], []


def const(name, value):
    init.append(nh.from_array(np.asarray(value), name))
    return name


def node(op, inputs, output, **kw):
    nodes.append(h.make_node(op, inputs, [output], **kw))
    return output


def i64(*v):
    return np.array(v, np.int64)


# each chunk with the 64 samples before it
node("Pad", ["samples", const("context", i64(0, CONTEXT, 0, 0))], "padded")
node("Slice", ["padded", const("zero", i64(0)), const("end", i64(SAMPLES)), const("axis1", i64(1))], "earlier")
node("Reshape", ["earlier", const("rows", i64(-1, STEPS, CHUNK))], "before")
node("Slice", ["before", "zero", const("ctx", i64(CONTEXT)), const("axis2", i64(2))], "contexts")
node("Reshape", ["samples", "rows"], "chunks")
node("Concat", ["contexts", "chunks"], "pieces", axis=2)
node("Reshape", ["pieces", const("flat", i64(-1, 1, CONTEXT + CHUNK))], "signals")
# the right side is mirrored by 64 samples, as the original does
node("Pad", ["signals", const("mirror", i64(0, 0, 0, 0, 0, 64))], "mirrored", mode="reflect")
# Convolutions as products of matrices, time before channels: ONNX Runtime takes a third of the time for them.


def cut(x, axis, start, stop, step=1):
    at = f"{x}_{start}_{stop}_{step}"
    return node("Slice", [x, const(at + "b", i64(start)), const(at + "e", i64(stop)), const(at + "a", i64(axis)), const(at + "s", i64(step))], at)


def dense(x, name, matrix, bias):
    node("MatMul", [x, const(name + ".weight", np.ascontiguousarray(matrix))], name + ".product")
    node("Add", [name + ".product", const(name + ".bias", bias)], name + ".sum")
    return node("Relu", [name + ".sum"], name)


node("Concat", [cut("mirrored", 2, 128 * k, 128 * k + 256) for k in range(4)], "frames", axis=1)
node("MatMul", ["frames", const("basis", np.ascontiguousarray(w["stft.forward_basis_buffer"][:, 0].T))], "spectrum")
re, im = cut("spectrum", 2, 0, 129), cut("spectrum", 2, 129, 258)
node("Mul", [re, re], "re2")
node("Mul", [im, im], "im2")
node("Add", ["re2", "im2"], "power")
node("Sqrt", ["power"], "magnitude")
E0, E1, E2, E3 = (w[f"encoder.{i}.weight"].transpose(2, 1, 0) for i in range(4))  # taps, in, out
b0, b1, b2, b3 = (w[f"encoder.{i}.bias"] for i in range(4))
const("around", i64(0, 1, 0, 0, 1, 0))
node("Pad", ["magnitude", "around"], "m6")
node("Concat", [cut("m6", 1, k, k + 4) for k in range(3)], "m3", axis=2)
dense("m3", "encoder0", E0.reshape(-1, E0.shape[2]), b0)
node("Pad", ["encoder0", "around"], "e6")
node("Concat", [cut("e6", 1, k, k + 3, 2) for k in range(3)], "e3", axis=2)
dense("e3", "encoder1", E1.reshape(-1, E1.shape[2]), b1)
node("Reshape", ["encoder1", const("pair", i64(-1, 128))], "e2")  # of three taps the first meets padding alone
dense("e2", "encoder2", E2[1:].reshape(-1, E2.shape[2]), b2)
x = dense("encoder2", "encoder3", E3[1], b3)
node("Reshape", [x, const("sequence", i64(-1, STEPS, 128))], "steps")
node("Transpose", ["steps"], "timed", perm=[1, 0, 2])
W, R, B = (w[f"onnx::LSTM_{i}"] for i in (209, 210, 211))
nodes.append(h.make_node("LSTM", ["timed", const("W", W), const("R", R), const("B", B)], ["hidden"], hidden_size=128))
node("Squeeze", ["hidden", "axis1"], "states")
node("Relu", ["states"], "relus")
node("MatMul", ["relus", const("output.weight", w["output.weight"].reshape(128, 1))], "scores")
node("Add", ["scores", const("output.bias", w["output.bias"].reshape(1))], "biased")
node("Squeeze", ["biased", "axis2"], "timed_logits")
node("Transpose", ["timed_logits"], "speech", perm=[1, 0])
g = h.make_graph(nodes, "voice-activity", [h.make_tensor_value_info("samples", T.FLOAT, ["batch", SAMPLES])],
                 [h.make_tensor_value_info("speech", T.FLOAT, ["batch", STEPS])], init)
m = h.make_model(g, opset_imports=[h.make_opsetid("", 17)], ir_version=8, producer_name="deepfaked")
onnx.checker.check_model(m, full_check=True)
onnx.save(m, sys.argv[2])
