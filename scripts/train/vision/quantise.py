"""The model in 8 bits: about half of the time on processors that multiply bytes."""

import logging
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from vision import export

ROWS = 96  # that show which values the maps take
# Of a row's logit, between processors: where a sum lies between two steps, either may be taken.
GOLDEN_TOLERANCE = 0.02
HEAD = ("detector.head.last.weight", "detector.head.last.bias")


class Rows(CalibrationDataReader):
    """Feeds uint8 rows, four at a time."""

    def __init__(self, rows):
        self.parts = iter(np.array_split(rows, max(1, len(rows) // 4)))

    def get_next(self):
        """The next rows, None at the end."""
        part = next(self.parts, None)
        return None if part is None else {"pixels": np.ascontiguousarray(part)}


def quantise(source, target, rows):
    """Writes the graph source with 8-bit convolutions to target.

    What is convolved with the picture itself and the head stay as they are. Weights have a scale for each
    channel; maps have the range that they take on the rows (of media that the model was
    trained on). What rounding shifts and stretches the logits by is undone in the head.
    """
    logging.getLogger().setLevel(logging.ERROR)  # it recommends what is done next
    prepared = Path(f"{target}.prepared")
    quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
    plain = as_they_are(onnx.load(prepared).graph.node)
    quantize_static(
        str(prepared), str(target), Rows(rows), quant_format=QuantFormat.QDQ, op_types_to_quantize=["Conv", "Add", "Clip"],
        per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, nodes_to_exclude=plain,
        calibrate_method=CalibrationMethod.MinMax,
    )
    prepared.unlink()
    at_once(target)
    straighten(target, export.runner(source)(rows), export.runner(target)(rows))


def as_they_are(nodes):
    """The names of the nodes that are not quantised: the first convolution, and the residuals, which bytes would round away."""
    first = next(n.name for n in nodes if n.op_type == "Conv" and "/residuals/" not in n.name)
    return [first, *(n.name for n in nodes if "/residuals/" in n.name)]


def at_once(path):
    """Has means of means taken at once: without the layout of convolutions in floats, each map would be rearranged for them, and back."""
    model = onnx.load(path)
    nodes = model.graph.node
    last = {n.input[0]: n for n in nodes if n.op_type == "GlobalAveragePool"}
    for parts in [n for n in nodes if n.op_type == "AveragePool"]:
        whole = last[parts.output[0]]
        parts.CopyFrom(onnx.helper.make_node("ReduceMean", parts.input, whole.output, name=parts.name, axes=[2, 3], keepdims=1))
        nodes.remove(whole)
    onnx.save(model, path)


def straighten(path, wanted, given):
    """Changes the head by the line that brings the given logits to the wanted ones, in least squares."""
    slope, offset = np.polyfit(given.astype(np.float64), wanted.astype(np.float64), 1)
    model = onnx.load(path)
    weight, bias = (next(i for i in model.graph.initializer if i.name == name) for name in HEAD)
    for tensor, add in ((weight, 0.0), (bias, offset)):
        changed = (numpy_helper.to_array(tensor) * slope + add).astype(np.float32)
        tensor.CopyFrom(numpy_helper.from_array(changed, tensor.name))
    onnx.save(model, path)
