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
HEAD_PATH = "/head/"  # in the names of the head's nodes
ADDING = ("proj", "fc2")  # layers of a block whose results are added to the tokens
ENDS = (0, -1)  # the first and the last block
HEAD = ("detector.head.last.weight", "detector.head.last.bias")


class Rows(CalibrationDataReader):
    """Feeds uint8 rows, four at a time."""

    def __init__(self, rows):
        self.parts = iter(np.array_split(rows, max(1, len(rows) // 4)))

    def get_next(self):
        """The next rows, None at the end."""
        part = next(self.parts, None)
        return None if part is None else {"pixels": np.ascontiguousarray(part)}


def quantise(source, target, rows, precise=ENDS):
    """Writes the graph source with the transformer's products with weights in 8 bits to target.

    Those that as_they_are() names, attention and the head stay as they are. Weights have a scale for each output;
    what they are multiplied with has the range that it takes on the rows (of media that the model was
    trained on). What rounding shifts and stretches the logits by is undone in the head.
    """
    logging.getLogger().setLevel(logging.ERROR)  # it recommends what is done next
    prepared = Path(f"{target}.prepared")
    quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
    plain = as_they_are(onnx.load(prepared).graph.node, precise)
    quantize_static(
        str(prepared), str(target), Rows(rows), quant_format=QuantFormat.QDQ, op_types_to_quantize=["Gemm"],
        per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, nodes_to_exclude=plain,
        calibrate_method=CalibrationMethod.MinMax, extra_options={"OpTypesToExcludeOutputQuantization": ["Gemm"]},
    )
    prepared.unlink()
    straighten(target, export.runner(source)(rows), export.runner(target)(rows))


def as_they_are(nodes, precise=ENDS):
    """The names of the products that are not in 8 bits: the head's, and those that add to the tokens in the precise blocks.

    A few channels of the tokens are some hundred times as large as the others there: with these products of the first and the last block
    in 8 bits too, statistics of a picture are off by .37 of their deviation over pictures, in place of .10.
    """
    products = [n.name for n in nodes if n.op_type == "Gemm"]
    adding = [name for name in products if name.rsplit("/", 2)[-2] in ADDING]
    blocks = list(dict.fromkeys(map(block_of, adding)))
    kept = {blocks[k] for k in precise}
    return [name for name in products if HEAD_PATH in name or name in adding and block_of(name) in kept]


def block_of(name):
    """The part of a node's name that is its block's."""
    return name.rsplit("/", 2)[0]


def straighten(path, wanted, given):
    """Changes the head by the line that brings the given logits to the wanted ones, in least squares."""
    slope, offset = np.polyfit(given.astype(np.float64), wanted.astype(np.float64), 1)
    model = onnx.load(path)
    weight, bias = (next(i for i in model.graph.initializer if i.name == name) for name in HEAD)
    for tensor, add in ((weight, 0.0), (bias, offset)):
        changed = (numpy_helper.to_array(tensor) * slope + add).astype(np.float32)
        tensor.CopyFrom(numpy_helper.from_array(changed, tensor.name))
    onnx.save(model, path)
