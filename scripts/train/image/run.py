"""Trains, measures and exports deepfaked-image."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import data
from vision import card, folds, pipeline

VIEWS = 12  # training views that are made of each picture

STUDY = pipeline.Study(
    name="deepfaked-image",
    version="0.2.0",
    task="image-synthesis",
    description="Judges a picture as a whole: MobileNetV2 fine-tuned on tiles of generated pictures and of photographs. "
    "About seven times in ten it ranks an unseen generator's picture above an unseen source's; weakest on GAN faces, "
    "Midjourney, GPT-Image, Gemini and Nano Banana, and on paintings, which it takes for generated.",
    recipe="scripts/train/image",
    data=data,
    preprocessing={"tiles": data.TILES},
    # The first layers keep their ImageNet weights: less to overfit, and cheaper.
    training={
        "steps": 700, "batch": 24, "frozen": 11, "rates": (2e-4, 2e-4), "decay": 0.05, "dropout": 0.2, "probe": 1e-4,
        "average": 0.98, "shuffle": 0.5,
    },
    seed=0,
    fold_seed=0,
    views=2,
    folds=(0, 1, 3, 4),
    groups=folds.repositories,
    taps=(9, 20, 35, 46),
)


def gathered(folder, work, more):
    """The pictures with their training views, and how many files were dropped as held out."""
    items, dropped = data.load(folder, work, more)
    data.make_views(items, work, VIEWS, STUDY.seed)
    return items, dropped


def main():
    """Gathers, trains, measures, exports."""
    options = card.arguments(__doc__)
    card.one_thread()
    items, dropped = gathered(options.data, options.work, options.more)
    pipeline.run(STUDY, options, items, dropped)


if __name__ == "__main__":
    main()
