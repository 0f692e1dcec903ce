"""Trains, measures and exports deepfaked-image."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import data
from vision import card, folds, heads, judge, pipeline

STUDY = pipeline.Study(
    name="deepfaked-image",
    version="0.3.1",
    task="image-synthesis",
    description="Judges a picture as a whole: a small network on the statistics of all blocks of MobileNetV2, trained on tiles and "
    "overviews of generated and of genuine pictures. About three times in four it ranks an unseen generator's picture above an "
    "unseen source's, four in five where the generator is known from other repositories. Weakest on GANs, patch-based methods "
    "and frames of generated video; its likeliest false alarms are paintings, anime and retouched portraits by people.",
    recipe="scripts/train/image",
    data=data,
    preprocessing={"tiles": data.TILES, "overview": True},
    training={"heads": 2, "hidden": 128, "steps": 400, "batch": 256, "rate": 1e-3, "decay": 0.1, "dropout": (0.3, 0.5), "overviews": 0.4},
    narrow=(2,),
    seed=0,
    groups=folds.repositories,
    train=heads.train,
    judged=heads.judged,
    model=judge.Judge,
)


def main():
    """Gathers, trains, measures, exports."""
    options = card.arguments(__doc__)
    card.one_thread()
    pictures = data.load(options.data, options.work, options.more, options.weights)
    plain = judge.Statistics(options.weights / card.BACKBONE, data.SIZE).eval()
    pipeline.run(STUDY, options, plain, pictures)


if __name__ == "__main__":
    main()
