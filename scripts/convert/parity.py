"""Command line: python -m convert.parity --media DIR --weights DIR --work DIR [--out FILE], from scripts/.

Converts every published detector and compares ONNX Runtime with the framework
on real rows at batch 1 and 4; writes the table and fails beyond the tolerance.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from convert import folder, graph, keras_reference, media, opencv_reference, yunet
from convert.published import ALL, FACES, MOTION, SPEECH

ROWS = 20
AROUND = 4  # side of what faces are looked for in, over the longer side of the face
HEADER = """# Parity of the converted detectors

Written by `make convert-parity`: {rows} real rows of each kind (windows of speech, crops of faces, stretches of
clips), half of them genuine, of as many sources as there are.
Each number is the largest difference of the logit between the framework and ONNX Runtime {runtime};
{tolerance:.0e} is allowed.
Where the framework is PyTorch, the network is this project's own, filled with the published weights; README.md
says how it compares with its authors' code. YuNet's logit is that of the surest face.

| detector | framework | logits, lowest and highest | batch 1 | batch {batch} |
|---|---|---|---|---|
"""
BATCH = 4


@dataclass
class Compared:
    """One row of the table."""

    name: str
    framework: str
    reference: np.ndarray
    one: float  # largest difference at batch 1
    four: float  # and at batch 4

    @property
    def agrees(self):
        """Whether both are within the tolerance; not a number is not."""
        return max(self.one, self.four) <= graph.TOLERANCE and bool(np.isfinite(self.reference).all())

    def line(self):
        """As Markdown."""
        low, high = self.reference.min(), self.reference.max()
        return f"| {self.name} | {self.framework} | {low:+.2f}, {high:+.2f} | {self.one:.1e} | {self.four:.1e} |\n"


def reference(published, source, network, rows):
    """The framework's name and its logits: the authors' own framework where it is installed."""
    path = source / published.files[0]
    if path.suffix == ".h5":
        try:
            return keras_reference.version(), keras_reference.logits(path, rows)
        except ImportError:
            pass  # the table then says PyTorch
    return f"PyTorch {torch.__version__}", graph.framework(network, rows)


def compare(published, source, rows, path):
    """Converts to path and compares on the rows."""
    network, runtime = folder.to_graph(published, source, path)
    name, expected = reference(published, source, network, rows)
    one, four = (float(np.abs(graph.run(runtime, rows, size) - expected).max()) for size in (1, BATCH))
    return Compared(published.name, name, expected, one, four)


def compare_finder(data, weights, work):
    """YuNet beside OpenCV, on faces and what is around them."""
    source, rows = weights / "yunet", media.seen_rows(data, work, weights, ROWS, yunet.SIDE, AROUND)
    runtime = yunet.to_graph(source, work / "yunet.onnx")
    expected = opencv_reference.surest(source / yunet.FILE, rows, yunet.OVERLAP)
    one, four = (float(np.abs(yunet.surest(runtime, rows, size) - expected).max()) for size in (1, BATCH))
    return Compared("yunet", opencv_reference.version(), expected, one, four)


def real_rows(task, data, weights, work):
    """The rows that the detectors of a task are compared on."""
    if task == SPEECH:
        return media.spoken_rows(data, ROWS)
    return {FACES: media.seen_rows, MOTION: media.moved_rows}[task](data, work, weights, ROWS)


def table(data, weights, work):
    """Compares the detectors, one after the other."""
    work.mkdir(parents=True, exist_ok=True)
    own = {}
    for name, published in ALL.items():
        if published.task not in own:
            own[published.task] = real_rows(published.task, data, weights, work)
        yield compare(published, folder.gathered(published, weights, work), own[published.task], work / f"{name}.onnx")
    yield compare_finder(data, weights, work)


def main():
    """Writes the table."""
    parser = argparse.ArgumentParser(prog="convert.parity", description="compares converted detectors with their frameworks")
    parser.add_argument("--media", required=True, type=Path, help="folder of the archives and held-out.sha256")
    parser.add_argument("--weights", required=True, type=Path, help="folder of the published weights")
    parser.add_argument("--work", required=True, type=Path, help="folder for what is made on the way, which is never committed")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("PARITY.md"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    text = HEADER.format(rows=ROWS, runtime=onnxruntime.__version__, tolerance=graph.TOLERANCE, batch=BATCH)
    failed = []
    for result in table(options.media, options.weights, options.work):
        print(result.line(), end="", flush=True)
        text += result.line()
        failed += [] if result.agrees else [result.name]
    options.out.write_text(text)
    if failed:
        sys.exit(f"ONNX Runtime differs from the framework by more than {graph.TOLERANCE:.0e} on {', '.join(failed)}.")


if __name__ == "__main__":
    main()
