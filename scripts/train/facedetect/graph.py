"""The ONNX file: writing it and comparing it with PyTorch."""

import numpy as np
import onnx
import torch
from faces import SIZE
from measure import LOWEST
from network import Served
from vision import export

LOGITS, PIXELS = 1e-3, 0.05  # how far logits and corners may lie from PyTorch's


def write(network, path):
    """One self-contained file; the network must be in eval mode."""
    torch.onnx.export(
        Served(network).eval(), (torch.zeros(2, SIZE, SIZE, 3, dtype=torch.uint8),), str(path), opset_version=export.OPSET,
        input_names=["pixels"], output_names=["faces"], dynamo=False, dynamic_axes={"pixels": {0: "n"}, "faces": {0: "n"}},
    )
    onnx.save(shortened(onnx.load(path)), path)
    onnx.checker.check_model(str(path), full_check=True)


def shortened(model):
    """The same graph with short names: the exporter's take a tenth of the file."""
    graph = model.graph
    outer = {v.name for v in (*graph.input, *graph.output)}
    short = {}
    rename = lambda name: name if not name or name in outer else short.setdefault(name, f"t{len(short)}")
    for node in graph.node:
        node.name = ""
        node.input[:], node.output[:] = map(rename, node.input), map(rename, node.output)
    for weights in graph.initializer:
        weights.name = rename(weights.name)
    del graph.value_info[:]
    return model


def runner(path):
    """A function from uint8 rows to their faces by the graph."""
    session = export.session(path)
    return lambda rows: session.run(None, {"pixels": rows})[0]


def apart(rows, others):
    """The largest difference in logits, and in the corners of rows whose logits are not within it of another's.

    Rows that nothing takes for a face are left out: among as many as a picture has in its plain
    parts there are neighbours that differ by rounding alone, of which one side keeps one and the other both.
    """
    sure = np.maximum(rows[..., 0], others[..., 0]) >= np.log(LOWEST / (1 - LOWEST))
    logits = np.abs(rows[..., 0] - others[..., 0])[sure].max(initial=0)
    gap = np.abs(np.diff(rows[..., 0], axis=1))
    alone = np.pad(gap, ((0, 0), (1, 0)), constant_values=1) > LOGITS
    alone &= np.pad(gap, ((0, 0), (0, 1)), constant_values=0) > LOGITS
    return float(logits), float(np.abs(rows - others)[..., 1:][alone & sure].max(initial=0))


def verify(network, path, rows):
    """Compares with PyTorch at batch 1 and 4; fails beyond the tolerance; returns the largest differences."""
    run, served, worst = runner(path), Served(network).eval(), np.zeros(2)
    for batch in (1, 4):
        for i in range(0, len(rows), batch):
            with torch.no_grad():
                expected = served(torch.from_numpy(rows[i : i + batch])).numpy()
            worst = np.maximum(worst, apart(expected, run(rows[i : i + batch])))
    print(f"PyTorch against batch 1 and 4: logits within {worst[0]:.1e}, corners within {worst[1]:.1e} pixels")
    if worst[0] > LOGITS or worst[1] > PIXELS:
        raise SystemExit("the exported graph does not agree with PyTorch")
    return worst


def golden(path):
    """The highest logit of one row filled by the pattern "lcg"."""
    index = np.arange(SIZE * SIZE * 3, dtype=np.uint64)
    row = ((index * 2654435761 + 1013904223) % 2**32 >> 24).astype(np.uint8).reshape(1, SIZE, SIZE, 3)
    return {"pattern": "lcg", "output": round(float(runner(path)(row)[0, 0, 0]), 6), "tolerance": 1e-3}
