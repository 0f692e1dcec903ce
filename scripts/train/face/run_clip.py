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
    from torch import nn
    from vision import card, clip, crossval, export, external, heads, judge, pipeline
    from vision.finder import Finder

NAME = "face-clip"
TAPS = (5, 7)  # blocks of the transformer
NARROW = ()  # what is published in 8 bits is there already


class Statistics(nn.Module):
    """N×3×224×224 in [-1, 1] to what is said of the outputs of TAPS; the name of its part is that of the encoder's layers."""

    def __init__(self, tensors):
        super().__init__()
        self.clip = clip.Clip(tensors, TAPS)

    def forward(self, x):
        """The statistics."""
        return self.clip(x)


def plain(weights):
    """The untouched blocks, with their weights as they are served, comparing a face with what is about it."""
    return judge.Compared(export.rounded(Statistics(clip.weights(external.CLIP.file(weights))).eval(), NARROW))


def graphs(weights, rows, statistics, content):
    """Writes the graph of what plain() makes of a row, and that of the final class token of a crop, both in 8 bits."""
    export.export(plain(weights), statistics, data.SHAPE)
    external.CLIP.reduce(statistics, rows)
    export.export(clip.Clip(clip.weights(external.CLIP.file(weights)), (), content=True).eval(), content, data.SHAPE[1:])
    external.Encoder(external.CLIP.file, "blocks", {}).reduce(content, rows[:, 0])


def by_head(shared, fold, work):
    """What judges the clips of a fold after encoding, by their files: the head that is kept of the model of that fold."""
    head = torch.load(STUDY.kept(work, crossval.HEAD.format(fold)), weights_only=False)
    return lambda path: heads.judged(head, shared[path]) if len(shared[path]) else []


STUDY = replace(
    run.STUDY,
    name="deepfaked-face-clip",
    version="0.1.0",
    description="Judges one face: a small network on what two middle blocks of CLIP's ViT-B/16 make of it and how that differs from what they make of it and what is about it. Experimental.",
    training=run.STUDY.training,
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
