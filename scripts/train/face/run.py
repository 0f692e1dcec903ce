"""Trains, measures and exports deepfaked-face."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import data
from vision import card, pipeline

STUDY = pipeline.Study(
    name="deepfaked-face",
    version="0.1.0",
    task="face-manipulation",
    description="Judges one face: MobileNetV2 fine-tuned on manipulated, generated and self-blended faces and on genuine ones. "
    "Experimental: on methods and sources it has not seen it ranks little better than chance.",
    recipe="scripts/train/face",
    data=data,
    preprocessing={"margin": data.MARGIN},
    training={
        "steps": 200, "batch": 16, "frozen": 20, "rates": (5e-4, 5e-4), "decay": 0.05, "dropout": 0.2, "probe": 1e-3,
    },
    seed=1,
    fold_seed=2,
    views=2,
    folds=(3, 4, 2, 1, 0),
)


def main():
    """Gathers, blends, trains, measures, exports."""
    options = card.arguments(__doc__)
    card.one_thread()
    items, dropped = data.load(options.data, options.work, options.weights)
    pipeline.run(STUDY, options, items + data.blended(items), dropped)


if __name__ == "__main__":
    main()
