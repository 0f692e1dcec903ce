"""From published files to a model folder."""

from convert import card, figures, graph
from convert.errors import ConversionError


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
