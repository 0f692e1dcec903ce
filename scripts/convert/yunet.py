"""YuNet, which finds faces: the published graph between two small ones of ours.

After Wu, Peng and Yu, "YuNet: a tiny millisecond-level face detector" (Machine
Intelligence Research 2023). The graph gives scores and boxes relative to the
cells of three grids; a card of ours wants the boxes, the surest first.
"""

import io
import json

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F
from onnx import compose, version_converter

from convert import graph, weights
from convert.errors import ConversionError

FILE = "yunet_n_dynamic.onnx"
SHA256 = "104ee26c71d5c270ce79a6b3dced91c91013260d29a6bf18f9296c5b8c4c2b12"
ORIGIN = "ShiqiYu/libfacedetection.train at 0047ac24afb1"
SIDE, BOXES = 640, 64
STRIDES = (8, 16, 32)
THRESHOLD, OVERLAP = 0.7, 0.4
SMALLEST = 1e-6  # probability, so that its logarithm exists
OUTPUTS = [f"{kind}_{stride}" for kind in ("cls", "obj", "bbox") for stride in STRIDES]
PARITY = 0.05  # pixels and log-odds, between the graph and the published one decoded by NumPy


class Before(nn.Module):
    """Rows of the service, uint8 N×side×side×3 RGB, to what YuNet takes: BGR, 0 to 255, channels first."""

    def forward(self, pixels):
        """N×3×side×side."""
        return pixels.flip(3).permute(0, 3, 1, 2).float()


class After(nn.Module):
    """YuNet's outputs to N×BOXES×5: log-odds, left, upper, right and lower edge, the surest first."""

    def forward(self, *outputs):
        """Of neighbours on a grid only the surest is a candidate."""
        named, rows = dict(zip(OUTPUTS, outputs)), []
        for stride in STRIDES:
            cells = SIDE // stride
            score = (named[f"cls_{stride}"] * named[f"obj_{stride}"]).clamp(SMALLEST**2, (1 - SMALLEST) ** 2).sqrt()
            flat = score.reshape(-1, 1, cells, cells)
            peak = (flat == F.max_pool2d(flat, 3, 1, 1)).float().reshape(-1, cells * cells, 1)
            score = score * peak + SMALLEST * (1 - peak)
            y, x = np.divmod(np.arange(cells * cells, dtype=np.float32), np.float32(cells))
            corner = torch.from_numpy(np.stack([x, y], 1))
            box = named[f"bbox_{stride}"]
            centre, half = (corner + box[..., :2]) * stride, box[..., 2:].exp() * stride / 2
            rows.append(torch.cat([score, centre - half, centre + half], 2))
        rows = torch.cat(rows, 1)
        index = rows[..., 0].topk(BOXES, 1).indices
        best = rows.gather(1, index.unsqueeze(2).expand(-1, -1, 5))
        chance = best[..., :1]
        return torch.cat([chance.log() - (1 - chance).log(), best[..., 1:]], 2)


def exported(network, example, inputs, outputs):
    """The network as a graph with a dynamic batch."""
    file = io.BytesIO()
    with torch.no_grad():
        torch.onnx.export(
            network.eval(), example, file, opset_version=graph.OPSET, input_names=inputs, output_names=outputs, dynamo=False,
            dynamic_axes={name: {0: "n"} for name in (*inputs, *outputs)},
        )
    return onnx.load_model_from_string(file.getvalue())


def published(source):
    """The published graph in our opset, without its landmarks."""
    path = source / FILE
    if weights.digest(path) != SHA256:
        raise ConversionError(f"{path} is not the file that was published: its SHA-256 is {weights.digest(path)}.")
    model = version_converter.convert_version(onnx.load(path), graph.OPSET)
    return onnx.utils.Extractor(model).extract_model(["input"], OUTPUTS)


def joined(source):
    """The three graphs as one, from pixels to faces."""
    before = exported(Before(), (torch.zeros(2, SIDE, SIDE, 3, dtype=torch.uint8),), ["pixels"], ["bgr"])
    grids = [(SIDE // stride) ** 2 for stride in STRIDES]
    shapes = [(2, n, width) for width in (1, 1, 4) for n in grids]
    after = exported(After(), tuple(torch.rand(s) for s in shapes), OUTPUTS, ["faces"])
    middle = published(source)
    middle.ir_version = after.ir_version = before.ir_version
    whole = compose.merge_models(before, compose.add_prefix(middle, "yunet/"), [("bgr", "yunet/input")], outputs=[f"yunet/{n}" for n in OUTPUTS])
    whole = compose.merge_models(whole, compose.add_prefix(after, "after/"), [(f"yunet/{n}", f"after/{n}") for n in OUTPUTS])
    whole.graph.output[0].name = "faces"
    for node in whole.graph.node:
        node.output[:] = ["faces" if name == "after/faces" else name for name in node.output]
    return whole


def decoded(outputs):
    """The surest row by NumPy, from the published outputs of one picture: for comparison."""
    best = None
    for stride in STRIDES:
        score = np.sqrt(outputs[f"cls_{stride}"][0, :, 0] * outputs[f"obj_{stride}"][0, :, 0])
        k = int(score.argmax())
        box, cell = outputs[f"bbox_{stride}"][0, k], np.array([k % (SIDE // stride), k // (SIDE // stride)])
        centre, half = (cell + box[:2]) * stride, np.exp(box[2:]) * stride / 2
        row = np.concatenate([[np.log(score[k] / (1 - score[k]))], centre - half, centre + half])
        best = row if best is None or row[0] > best[0] else best
    return best


def verify(runtime, source, rows):
    """Fails unless the surest box of each row is the published graph's."""
    plain = graph.session(source / FILE)
    together = runtime.run(None, {"pixels": rows})[0]
    for row, found in zip(rows, together):
        blob = row[:, :, ::-1].transpose(2, 0, 1)[None].astype(np.float32)
        apart = np.abs(decoded(dict(zip(OUTPUTS, plain.run(OUTPUTS, {"input": blob})))) - found[0]).max()
        if not apart <= PARITY:
            raise ConversionError(f"The graph of yunet differs from the published one by {apart:.2g}.")


def surest(runtime, rows, batch):
    """Log-odds of the surest face of each row, batch rows at a time."""
    return np.concatenate([runtime.run(None, {"pixels": rows[i : i + batch]})[0][:, 0, 0] for i in range(0, len(rows), batch)])


def to_graph(source, path):
    """Writes the whole graph to path and returns the session."""
    model = joined(source)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return graph.session(path)


def to_folder(source, out):
    """Writes model.onnx and card.json into out, which is made where it is missing."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / "model.onnx"
    runtime = to_graph(source, path)
    golden = graph.golden_row((SIDE, SIDE, 3), "uint8")
    verify(runtime, source, np.concatenate([golden, 255 - golden, np.sort(golden, 1)]))
    card = {
        "schema": 1, "name": "yunet", "version": "1", "task": "face-detection",
        "description": "YuNet, published weights: finds faces. Its authors report an average precision of .892, .883 and .811 on "
        "WIDER FACE, easy, medium and hard. The built-in detector was trained on what it finds.",
        "file": path.name, "sha256": weights.digest(path),
        "input": {"name": "pixels", "type": "uint8", "shape": [-1, SIDE, SIDE, 3]},
        "output": {"name": "faces", "type": "float32", "shape": [-1, BOXES, 5]},
        "preprocessing": {},
        "detection": {"threshold": THRESHOLD, "overlap": OVERLAP},
        "training": {
            "recipe": "scripts/convert", "seed": 0, "cpu_minutes": 0,
            "started_from": f"published weights, unchanged: {FILE} of {ORIGIN} (Apache-2.0)",
            "sources": [{
                "name": "WIDER FACE, training part", "repository": "shuoyang1213.me/WIDERFACE", "commit": "",
                "licence": "not stated; for research", "real": 12880, "fake": 0,
            }],
            "held_out_dropped": 0,
        },
        "licences": {
            "code": "Apache-2.0", "weights": "Apache-2.0",
            "data": "Trained by its authors on WIDER FACE, which is not part of this model.",
        },
        "golden": {"pattern": "lcg", "output": round(float(runtime.run(None, {"pixels": golden})[0][0, 0, 0]), 6), "tolerance": 1e-3},
    }
    (out / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n")
