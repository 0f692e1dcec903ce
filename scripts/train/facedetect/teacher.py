"""YuNet as the teacher: what it says of every cell, its features at stride 8, and its weights to begin with."""

import numpy as np
import onnx
import onnxruntime
import torch
from network import STRIDES
from onnx import numpy_helper

FEATURES = "233"  # name in the published graph of what its first three stages leave, at stride 8
# Parts of the network, and what they are called in the published graph.
ORIGINS = {
    "pooled": "backbone.model2.conv{}", "fine": "backbone.model3.conv{}",
    "middle": "backbone.model4.conv{}", "coarse": "backbone.model5.conv{}",
    "lateral": "neck.lateral_convs.{}", "last": "bbox_head.multi_level_share_convs.{}.0",
}
BEGIN = ("backbone.model0.conv2", "backbone.model1.conv1", "backbone.model1.conv2")
HEADS = ("cls", "obj", "bbox")


class Teacher:
    """Runs the part of the published graph that is learned from, on one thread."""

    def __init__(self, path, features):
        self.names = [f"{part}_{stride}" for part in HEADS for stride in STRIDES]
        graph = onnx.utils.Extractor(onnx.load(path)).extract_model(["input"], self.names + [FEATURES] * features)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def judge(self, pixels):
        """Score and corners of every cell of RGB views, N×cells and N×cells×4, and the features or nothing."""
        blobs = np.ascontiguousarray(pixels[..., ::-1].transpose(0, 3, 1, 2), np.float32)
        found = self.session.run(None, {"input": blobs})
        values = dict(zip(self.names, found))
        scores, corners = [], []
        for stride in STRIDES:
            scores.append(np.sqrt(values[f"cls_{stride}"][..., 0] * values[f"obj_{stride}"][..., 0]))
            box = values[f"bbox_{stride}"]
            cell = np.stack(np.meshgrid(np.arange(pixels.shape[2] // stride), np.arange(pixels.shape[1] // stride)), -1)
            centre, half = box[..., :2] + cell.reshape(-1, 2), np.exp(box[..., 2:]) / 2
            corners.append(np.concatenate([centre - half, centre + half], -1) * stride)
        return np.concatenate(scores, 1), np.concatenate(corners, 1).astype(np.float32), *found[len(self.names) :]


def layers(path):
    """Weights and biases of all convolutions of the published graph, in its order, with the name of the weights."""
    graph = onnx.load(path).graph
    values = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in graph.initializer}
    return [(node.input[1], values[node.input[1]], values[node.input[2]]) for node in graph.node if node.op_type == "Conv"]


def warm(network, path):
    """Gives the network YuNet's weights in every layer."""
    found = layers(path)
    # A pointwise convolution is named, and the depthwise one after it belongs to it.
    end = ".conv1.weight"
    published = {one[0].removesuffix(end): (*one[1:], *after[1:]) for one, after in zip(found, found[1:]) if one[0].endswith(end)}
    _, weight, bias = found[0]
    with torch.no_grad():
        # From BGR to RGB, and from channels to the layout of rows.
        network.begin.pixels.weight.copy_(weight.flip(1).permute(0, 2, 3, 1).reshape(-1, 1, 3, 9))
        network.begin.pixels.bias.copy_(bias)
    for unit, origin in zip(network.begin.units, BEGIN):
        put(unit, published[origin])
    for name, origin in ORIGINS.items():
        # Stages count their layers from 1; the neck and the heads their strides from 8, which we do without.
        for k, unit in enumerate(getattr(network, name), 1):
            put(unit, published[origin.format(k)])
    for k, unit in enumerate(network.heads, 1):
        parts = [published[f"bbox_head.multi_level_{part}.{k}"] for part in HEADS]
        put(unit, [torch.cat(values) for values in zip(*parts)])


def put(pair, values):
    """Sets the weights and biases of both convolutions."""
    with torch.no_grad():
        own = pair.pointwise.weight, pair.pointwise.bias, pair.depthwise.weight, pair.depthwise.bias
        for old, new in zip(own, values, strict=True):
            old.copy_(new)
