"""From published files to a model folder."""

import shutil

from convert import card, figures, graph
from convert.errors import ConversionError


def gathered(published, mirror, work):
    """One folder of the published files: theirs in the mirror, or copies in the work folder where they lie in several there."""
    if len(published.folders) == 1:
        return mirror / published.folders[0]
    target = work / f"{published.name}.published"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in (mirror / folder / name for folder in published.folders for name in published.files):
        if path.is_file():
            shutil.copy(path, target)
    return target


def to_graph(published, source, path):
    """Writes the graph to path and returns the network and the session, which agree on the golden row."""
    network = published.load(source)
    row = graph.golden_row(published.shape, published.input["type"])
    reference = graph.framework(network, row)
    graph.write(network, row, path, published.input["name"])
    runtime = graph.session(path)
    apart = float(abs(graph.run(runtime, row) - reference).max())
    if not apart <= graph.TOLERANCE:
        raise ConversionError(f"The graph of {published.name} differs from PyTorch by {apart:.1e}, more than {graph.TOLERANCE:.0e}.")
    return network, runtime


def to_folder(published, source, out):
    """Writes model.onnx and card.json into out, which is made where it is missing."""
    facts = figures.of(published, source)
    out.mkdir(parents=True, exist_ok=True)
    _, runtime = to_graph(published, source, out / "model.onnx")
    row = graph.golden_row(published.shape, published.input["type"])
    card.write(published, facts, out, float(graph.run(runtime, row)[0]))
