"""The model in 8 bits beside the model: written, and measured fold by fold, on the first part of what the model is measured on."""

import numpy as np

from vision import card, crossval, export, figures, quantise
from vision.folds import folds, inside

FILE = "model-int8.onnx"
HEADER = """
## In 8 bits

The same folds, each model quantised with {rows} rows of what it was trained on, by the calibration and at the thresholds
above. The last columns are shares called fake of genuine and of generated pictures at the balanced threshold.

| precision | condition | AUC | EER | ECE | genuine | generated |
|---|---|---|---|---|---|---|
"""


def sample(study, items):
    """Rows that show which values the maps take: one of each of some scored items."""
    judged = first_part(study, [i for i in items if i.judged])
    chosen = np.linspace(0, len(judged) - 1, quantise.ROWS).astype(int)
    return np.stack([study.data.check_row(judged[k]) for k in chosen])


def first_part(study, items):
    """The items of the first part, whose rows are kept."""
    return [item for item, own in zip(items, study.parts(items)[0][1]) if own]


def score_fold(study, items, fold, work):
    """The scores of a fold's items by that fold's model in 8 bits, in the order of the model's own."""
    left = first_part(study, [items[i] for i in np.load(study.kept(work, f"fold{fold}.npz"))["rows"]])
    known = inside(items, folds(items, crossval.FOLDS, study.groups), fold)
    source, target = (study.kept(work, f"fold{fold}{end}.onnx") for end in ("", "-int8"))
    quantise.quantise(source, target, sample(study, [items[i] for i in known]), study.precise)
    run = export.runner(target, 1)
    return {"scores": np.array([study.data.score(run, item) for item in left])}


def scores(study, items, work):
    """Out-of-fold scores of the first part, N×conditions, in the order of pipeline.cross_validate."""
    kept = [
        card.keep(study.kept(work, f"fold{fold}-int8.npz"), lambda: score_fold(study, items, fold, work))["scores"]
        for fold in study.folds
    ]
    return np.concatenate(kept)


def write(study, folder, items, rows):
    """Writes FILE beside the model; returns its entry in the card. rows are its measurements."""
    quantise.quantise(folder / "model.onnx", folder / FILE, sample(study, items), study.precise)
    export.compact(folder / FILE, study.narrow)
    golden = export.golden(folder / FILE, study.data.SHAPE) | {"tolerance": quantise.GOLDEN_TOLERANCE}
    return {"precision": "int8", "file": FILE, "sha256": export.digest(folder / FILE), "golden": golden, "measured": rows}


def table(scored, calibration, threshold, named):
    """Both precisions side by side; named holds the measurements and the scores of each."""
    text, genuine = HEADER.format(rows=quantise.ROWS), np.array([not i.fake for i in scored])
    for name, (rows, own) in named.items():
        called = figures.probability(calibration, own) >= threshold
        for k, row in enumerate(rows):
            shares = f"{called[genuine, k].mean():.3f} | {called[~genuine, k].mean():.3f}"
            text += f"| {name} | {row['condition']} | {row['auc']:.3f} | {row['eer']:.3f} | {row['ece']:.3f} | {shares} |\n"
    return text
