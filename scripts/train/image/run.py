"""Trains, measures and exports deepfaked-image."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import needs

with needs.packages():
    import data
    import small
    from vision import card, folds, heads, judge, pipeline

STUDY = pipeline.Study(
    name="deepfaked-image",
    version="0.7.0",
    task="image-synthesis",
    description="Judges a picture, or frames of a film, as a whole: a small network on what two blocks of ViT-Tiny make of it and on what "
    "high-pass filters leave, trained on tiles and overviews of generated and of genuine pictures and films. Five times in six it "
    "ranks an unseen generator's picture or film above an unseen source's. Weakest on GANs, patch-based methods, GPT-Image-2, Nano Banana Pro and ImageFX; its likeliest "
    "false alarms are renderings, paintings, anime and stock photographs of websites.",
    recipe="scripts/train/image",
    data=data,
    preprocessing={"tiles": data.SMALL.tiles, "overview": True},
    training={"heads": 2, "hidden": 128, "steps": 1600, "batch": 256, "rate": 1e-3, "decay": 0.1, "dropout": (0.3, 0.5), "overviews": 0.4, "small": 0.1, "media": {"picture": 0.7, "film": 0.3}},
    narrow=data.NARROW,
    seed=0,
    groups=folds.repositories,
    train=heads.train,
    judged=heads.judged,
    model=judge.Judge,
    apart="any generator of its family, nor the named collection that a genuine picture is of; what a name only says the kind of, and genuine films, are kept apart by repository",
    parts=data.parts,
    small=data.score_views,
    sides=small.sides_of,
)


def main():
    """Gathers, trains, measures, exports."""
    options = card.arguments(__doc__)
    card.one_thread()
    pictures = data.load(options.data, options.work, options.more, options.weights)
    for rows, views in zip(pictures[1], small.kept(pictures[0], options.work), strict=True):
        rows["views"], rows["small"] = views, [row for _, *both in views for some in both for row in some]
    pipeline.run(STUDY, options, data.plain(options.weights), pictures)


if __name__ == "__main__":
    main()
