"""Trains, measures and exports deepfaked-image-clip."""

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import needs

with needs.packages():
    import data
    import numpy as np
    import run
    import small
    from vision import card, clip, content, export, external, pipeline

NAME = "image-clip"
TAPS = (5, 7, 8)  # blocks of the transformer
TOKENS = tuple((3 * clip.WIDTH * k, 3 * clip.WIDTH * k + clip.WIDTH) for k in range(len(TAPS)))  # where the class tokens are among the statistics
NARROW = ()  # what is published in 8 bits is there already


def plain(weights):
    """The untouched blocks, with their weights as they are served."""
    return export.rounded(clip.Statistics(clip.weights(external.CLIP.file(weights)), TAPS).eval(), NARROW)


def graph(weights, path, rows):
    """Writes the graph of what plain() makes of a row, in 8 bits; the rows by which they were scaled are kept beside it."""
    np.save(rows_file(path.parent), rows)
    export.export(plain(weights), path, data.SHAPE)
    external.CLIP.reduce(path, rows)


def content_graph(weights, path, rows):
    """Writes the graph of what a row shows."""
    content.graph(weights, path, data.SHAPE, rows)


def rows_file(work):
    """Where the rows are kept by which the 8 bits were scaled."""
    return Path(work, f"{NAME}-rows.npy")


RECIPE = data.Recipe(NAME, graph, tiles=1, views=1, wholes=2, reduced=1, every=4, content=content_graph)
STUDY = replace(
    run.STUDY,
    name="deepfaked-image-clip",
    version="0.2.0",
    description="Judges a picture, or frames of a film, as a whole and by its middle: a small network on what three middle blocks of CLIP's ViT-B/16 make of it. "
    "Trained and measured, too, on sets that show the same subjects on both sides, and kind by kind. Weakest where a genuine picture was only edited, on satellite tiles, "
    "on small pictures, and where a generated one repeats a stock photograph.",
    preprocessing={"tiles": RECIPE.tiles, "overview": True},
    training=run.STUDY.training | {"hidden": 64, "steps": 600, "overviews": 0.5, "likeness": TOKENS},
    narrow=NARROW,
    encoder=external.CLIP,
    calibration_rows=lambda work: np.load(rows_file(work)),
    started=clip.SOURCE,
)


def main():
    """Gathers, trains, measures, exports."""
    options = card.arguments(__doc__)
    card.one_thread()
    pictures = data.load(options.data, options.work, options.more, options.weights, RECIPE)
    for rows, views in zip(pictures[1], small.kept(pictures[0], options.work, RECIPE), strict=True):
        rows["views"], rows["small"] = views, [row for _, *both in views for some in both for row in some]
    pipeline.run(STUDY, options, plain(options.weights), pictures)


if __name__ == "__main__":
    main()
