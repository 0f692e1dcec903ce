"""Trains, measures and exports deepfaked-face."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import needs

with needs.packages():
    import clips
    import data
    import measure
    import tables
    from vision import card, folds, heads, judge, pipeline, quantise
    from vision.finder import Finder

STUDY = pipeline.Study(
    name=data.NAME,
    version="0.7.0",
    task="face-manipulation",
    description="Judges one face: a small network on what two blocks of ViT-Tiny make of it and how that differs from what they make of it and what is about it, trained on genuine faces, blended copies "
    "of them and manipulated faces of 111 methods. Experimental: about three times in four it ranks a face of an unseen method above one "
    "of an unseen genuine source. Best on heads that are rendered or generated from a picture and a "
    "voice; little better than chance on DeepFaceLab's and DFDC's face swaps, StyleSwap, ReSyncer and NullFace, "
    "and on lip sync such as Diff2Lip and HyperLips. Its likeliest false alarms are clips that talking heads were driven by, and restored or degraded photographs.",
    recipe="scripts/train/face",
    data=data,
    preprocessing={"margin": data.MARGIN, "surround": data.SURROUND},
    training={"heads": 2, "hidden": 64, "steps": 1600, "batch": 128, "rate": 1e-3, "decay": 0.1, "dropout": (0.5, 0.5), "overviews": 0.0},
    seed=0,
    groups=folds.repositories,
    train=heads.train,
    judged=heads.judged,
    model=judge.Judge,
    narrow=data.NARROW,
    precise=(*quantise.ENDS, data.TAPS[0]),  # a difference of two crops' statistics is smaller than either, what rounding does to them is not
    made_by="methods",
    apart="any manipulated face of that method",
    media=measure.media,
    further=measure.further,
    tables=tables.more,
)


def main():
    """Gathers, trains, measures, exports."""
    options = card.arguments(__doc__)
    card.one_thread()
    faces = data.load(options.data, options.work, options.weights, options.more)
    clips.keep_shared([i for i in faces[0] if i.judged], options.work, Finder())
    pipeline.run(STUDY, options, data.plain(options.weights), faces)


if __name__ == "__main__":
    main()
