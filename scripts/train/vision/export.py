"""ONNX export, its check against PyTorch, and the golden output."""

import hashlib
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn as nn

OPSET = 17
TOLERANCE = 1e-4
LARGE = 1000  # values of a tensor that compact() makes smaller
# In the names of what is kept as it is: filters, which rounded would not add up to 0, and weights that are published in 8 bits.
EXACT = ("residuals", "clip.blocks")


class Served(nn.Module):
    """The detector as the service calls it: uint8 N×S×S×3 RGB, or N×K×S×S×3 where a row is K crops, to float32 N or N×2."""

    def __init__(self, detector):
        super().__init__()
        self.detector = detector

    def forward(self, pixels):
        """What the detector says of each row."""
        last = pixels.ndim - 1
        return self.detector(pixels.float().div(127.5).sub(1.0).permute(*range(last - 2), last, last - 2, last - 1))


def export(detector, path, shape):
    """Writes one self-contained file; shape is that of a row. The detector must be in eval mode."""
    served = Served(detector.to(memory_format=torch.contiguous_format)).eval()
    torch.onnx.export(
        served, (torch.zeros(2, *shape, dtype=torch.uint8),), str(path), opset_version=OPSET,
        input_names=["pixels"], output_names=["logit"], dynamo=False,
        dynamic_axes={"pixels": {0: "n"}, "logit": {0: "n"}},
    )
    onnx.checker.check_model(str(path), full_check=True)


def in_bytes(shape, narrow):
    """Whether compact() keeps a large weight in 8 bits: a matrix (2 dimensions) or a convolution (4), where narrow says so."""
    return len(shape) in narrow


def scaled(values):
    """Weights as 8-bit integers, symmetric, and the scale of each output channel, which comes first: their product is the weight."""
    scale = np.abs(values).max(tuple(range(1, values.ndim)), keepdims=True).astype(np.float32) / 127
    scale[scale == 0] = 1
    return np.rint(values / scale).astype(np.int8), scale


def rounded(detector, narrow=()):
    """Rounds what compact() makes smaller, in place, so that the file holds just what is run."""
    for name, values in detector.state_dict().items():
        if any(part in name for part in EXACT):
            continue
        if values.numel() > LARGE and in_bytes(values.shape, narrow):
            whole, scale = scaled(values.numpy())
            values.copy_(torch.from_numpy(whole * scale))
        elif values.numel() > LARGE:
            values.copy_(values.half().float())
    return detector


def compact(path, narrow=(), part=""):
    """Keeps large weights in 16 bits, and those that in_bytes() names in 8, where their names hold part; ONNX Runtime makes 32 of them when it loads the graph.

    Plain casts and products of constants do that: ONNX Runtime has no 8-bit operations to put in their place,
    as it has for DequantizeLinear, and folds them.
    """
    model = onnx.load(path)
    for tensor in list(model.graph.initializer):
        if tensor.data_type == onnx.TensorProto.FLOAT and np.prod(tensor.dims) > LARGE and part in tensor.name and not any(own in tensor.name for own in EXACT):
            values = onnx.numpy_helper.to_array(tensor)
            (in_8_bits if in_bytes(values.shape, narrow) else in_16_bits)(model.graph, tensor, values)
    without_names(model.graph)
    onnx.save(model, path)


def without_names(graph):
    """Takes the names from nodes and numbers what they give each other: a transformer's take 150 kB."""
    own = {value.name for value in (*graph.input, *graph.output, *graph.initializer)}
    short = {}
    for node in graph.node:
        node.name = ""
        for names in (node.input, node.output):
            for k, name in enumerate(names):
                if name and name not in own:
                    names[k] = short.setdefault(name, f"v{len(short)}")
    del graph.value_info[:]


def in_16_bits(graph, tensor, values):
    """Keeps one weight in 16 bits."""
    name = tensor.name
    tensor.CopyFrom(onnx.numpy_helper.from_array(values.astype(np.float16), name + "_half"))
    graph.node.insert(0, onnx.helper.make_node("Cast", [name + "_half"], [name], to=onnx.TensorProto.FLOAT))


def in_8_bits(graph, tensor, values):
    """Keeps one weight in 8 bits, and the scales of its channels."""
    (whole, scale), name = scaled(values), tensor.name
    tensor.CopyFrom(onnx.numpy_helper.from_array(whole, name + "_byte"))
    graph.initializer.append(onnx.numpy_helper.from_array(scale, name + "_scale"))
    graph.node.insert(0, onnx.helper.make_node("Mul", [name + "_whole", name + "_scale"], [name]))
    graph.node.insert(0, onnx.helper.make_node("Cast", [name + "_byte"], [name + "_whole"], to=onnx.TensorProto.FLOAT))


def sums_bytes():
    """Whether the processor has instructions that add products of bytes in 32 bits."""
    facts = Path("/proc/cpuinfo")
    return facts.exists() and any(name in facts.read_text() for name in (" avx512_vnni", " avx_vnni"))


def session(path):
    """An ONNX Runtime session on one thread, exact in 8 bits on every processor (inference/ort/bytesums.go)."""
    options = onnxruntime.SessionOptions()
    if not sums_bytes():
        options.add_session_config_entry("session.x64quantprecision", "1")
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def runner(path, batch=6):
    """A function from uint8 rows to their log-odds by the graph."""
    graph = session(path)

    def run(rows):
        return np.concatenate([graph.run(None, {"pixels": rows[i : i + batch]})[0] for i in range(0, len(rows), batch)])

    return run


def verify(detector, path, rows):
    """Compares with PyTorch at batch 1 and 4, prints the table, fails beyond the tolerance."""
    served, graph = Served(detector).eval(), session(path)
    with torch.no_grad():
        expected = served(torch.from_numpy(rows)).numpy()
    run = lambda part: graph.run(None, {"pixels": part})[0]
    one = np.concatenate([run(rows[i : i + 1]) for i in range(len(rows))])
    four = np.concatenate([run(rows[i : i + 4]) for i in range(0, len(rows), 4)])
    print("row  pytorch      batch 1      batch 4      largest difference")
    for i, values in enumerate(zip(expected, one, four)):
        print("%3d  %+.6f  %+.6f  %+.6f  %.1e" % (i, *(v.flat[0] for v in values), max(np.abs(v - values[0]).max() for v in values)))
    worst = float(max(np.abs(one - expected).max(), np.abs(four - expected).max()))
    print(f"largest difference {worst:.1e}, allowed {TOLERANCE:.0e}")
    if worst > TOLERANCE:
        raise SystemExit("the exported graph does not agree with PyTorch")


def output_shape(path):
    """The shape of the graph's output, its first dimension as -1."""
    dims = onnx.load(path, load_external_data=False).graph.output[0].type.tensor_type.shape.dim
    return [-1, *(d.dim_value for d in dims[1:])]


def golden(path, shape):
    """The output for one row filled by the pattern "lcg"."""
    index = np.arange(np.prod(shape), dtype=np.uint64)
    row = ((index * 2654435761 + 1013904223) % 2**32 >> 24).astype(np.uint8).reshape(1, *shape)
    output = session(path).run(None, {"pixels": row})[0]
    return {"pattern": "lcg", "output": round(float(output.flat[0]), 6), "tolerance": 1e-3}


def digest(path):
    """SHA-256 of the file, lower-case hex."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
