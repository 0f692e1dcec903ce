"""ONNX export, running the graph, the golden output."""

import warnings

import numpy as np
import onnx
import onnxruntime
import torch

OPSET = 17
TOLERANCE = 1e-4  # between ONNX Runtime and the framework, on the logit


def write(network, example, path, name):
    """One self-contained file with a dynamic batch; example is one row or more of input.

    The network must be in eval mode itself: the exporter puts the mode of what
    it is given back afterwards, and a wrapper left in training mode would take
    the network with it.
    """
    if network.training:
        raise ValueError("the network is in training mode")
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network, (torch.from_numpy(np.concatenate([example, example])[:2]),), str(path), opset_version=OPSET,
            input_names=[name], output_names=["logit"], dynamo=False,
            dynamic_axes={name: {0: "n"}, "logit": {0: "n"}},
        )
    onnx.checker.check_model(str(path), full_check=True)


def session(path):
    """ONNX Runtime on one CPU thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run(runtime, rows, batch=1):
    """Logits of the rows, batch at a time."""
    name = runtime.get_inputs()[0].name
    parts = [runtime.run(["logit"], {name: rows[i : i + batch]})[0] for i in range(0, len(rows), batch)]
    return np.concatenate(parts)


def framework(network, rows, batch=4):
    """Logits of the rows by PyTorch."""
    with torch.inference_mode():
        return np.concatenate([network(torch.from_numpy(rows[i : i + batch])).numpy() for i in range(0, len(rows), batch)])


def golden_row(shape, kind):
    """One row filled by the pattern "lcg" of the card format."""
    index = np.arange(int(np.prod(shape)), dtype=np.uint64)
    filled = (index * 2654435761 + 1013904223) % 2**32 >> 24
    if kind == "uint8":
        return filled.astype(np.uint8).reshape(1, *shape)
    return ((filled / 255 - 0.5) * 0.2).astype(np.float32).reshape(1, *shape)
