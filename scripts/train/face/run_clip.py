"""Trains, measures and exports deepfaked-face-clip."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import needs

with needs.packages():
    import clips
    import data
    import encoded
    import measure
    import numpy as np
    import run
    import tables
    import torch
    from vision import card, clip, content, crossval, export, external, heads, judge, pipeline
    from vision.finder import Finder

NAME = "face-clip"
TAPS = (5, 7)  # blocks of the transformer
NARROW = ()  # what is published in 8 bits is there already


def plain(weights):
    """The untouched blocks, with their weights as they are served, comparing a face with what is about it."""
    return judge.Compared(export.rounded(clip.Statistics(clip.weights(external.CLIP.file(weights)), TAPS).eval(), NARROW))


def graphs(weights, rows, statistics, shown):
    """Writes the graph of what plain() makes of a row, and that of the final class token of a crop, both in 8 bits."""
    export.export(plain(weights), statistics, data.SHAPE)
    external.CLIP.reduce(statistics, rows)
    content.graph(weights, shown, data.SHAPE[1:], rows[:, 0])


def by_head(shared, fold, work):
    """What judges the clips of a fold after encoding, by their files: the head that is kept of the model of that fold."""
    head = torch.load(STUDY.kept(work, crossval.HEAD.format(fold)), weights_only=False)
    return lambda path: heads.judged(head, shared[path]) if len(shared[path]) else []


STUDY = replace(
    run.STUDY,
    name="deepfaked-face-clip",
    version="0.1.0",
    description="Judges one face: a small network on what two middle blocks of CLIP's ViT-B/16 make of it and how that differs from what they make of it and what is about it. Experimental.",
    narrow=NARROW,
    encoder=external.CLIP,
    calibration_rows=lambda work: np.load(encoded.rows_file(work, NAME)),
    started=clip.SOURCE,
    tables=tables.of_encoder,
)


def main():
    """Gathers, trains, measures, exports."""
    options = card.arguments(__doc__)
    card.one_thread()
    items, _, dropped = data.load(options.data, options.work, options.weights, options.more)
    features = encoded.features(items, options.work, NAME, partial(graphs, options.weights))
    clips.keep_shared([i for i in items if i.judged], options.work, Finder())
    shared = partial(by_head, encoded.of_clips([i for i in items if i.judged], options.work, NAME))
    study = replace(STUDY, media=partial(measure.media, judge=shared), further=partial(measure.further, judge=shared))
    pipeline.run(study, options, plain(options.weights), (items, features, dropped))


if __name__ == "__main__":
    main()
