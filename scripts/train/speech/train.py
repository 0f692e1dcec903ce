"""Fitting on clean and degraded windows; out-of-fold scores of whole clips."""
import numpy as np

import folds
from classifier import Band, Classifier, Pair, score
from features import PART, WHOLE

# Weight of a clip's windows in each condition that a classifier is trained on.
WIDE = {"clean": 1.0, "degraded-0": 0.15, "line-0": 0.15, "coded-0": 0.15}
NARROW = {"telephone": 1.0, "line-0": 1.0, "clean": 0.3, "degraded-0": 0.15, "coded-0": 0.15}
LINES = ("telephone", "line-0")  # conditions of a narrow band
JUDGED_ON = [*WHOLE, *PART, "degraded-0", "coded-0"]


def rows(clips, tables, chosen, conditions, column="x"):
    """Training rows of the chosen clips, of every one of the conditions that has the column:
    values, labels, weights."""
    index = np.flatnonzero(chosen)
    weight = np.zeros(len(clips))
    weight[index] = folds.balanced([clips[i] for i in index])
    label = np.array([c["label"] for c in clips])
    x, y, w = [], [], []
    for name, condition_weight in conditions.items():
        if column not in tables[name]:
            continue
        owner = tables[name]["clip"]
        take = chosen[owner]
        share = condition_weight * weight[owner] / np.bincount(owner, minlength=len(clips))[owner]
        x.append(tables[name][column][take])
        y.append(label[owner][take])
        w.append(share[take])
    return np.concatenate(x), np.concatenate(y), np.concatenate(w)


def fit(clips, tables, chosen, column="x"):
    """A classifier from the chosen clips; for all but the statistics one of wide sound alone."""
    wide = Classifier(*rows(clips, tables, chosen, WIDE, column))
    if column != "x":
        return wide
    return Pair(wide, Classifier(*rows(clips, tables, chosen, NARROW)), band(tables, chosen))


def band(tables, chosen):
    """What tells the band, from windows of the chosen clips in every condition."""
    own = {name: tables[name]["x"][chosen[tables[name]["clip"]]] for name in {**WIDE, **NARROW}}
    return Band(np.concatenate(list(own.values())), np.concatenate([np.full(len(x), name in LINES) for name, x in own.items()]))


def clip_scores(model, table, chosen, column="x"):
    """Mean decision value over the windows of each chosen clip, NaN elsewhere."""
    owner = table["clip"]
    take = chosen[owner]
    value = score(model, table[column][take])
    n = len(chosen)
    with np.errstate(invalid="ignore"):
        return np.bincount(owner[take], value, n) / np.bincount(owner[take], minlength=n)


def out_of_fold(clips, tables, fold, column="x", within=True, kept=None):
    """Condition -> score of each clip by the model that saw neither its repository
    nor, for a fake, its system. `within` masks the clips that may teach at all; `kept` takes the models, by fold."""
    out = {name: np.full(len(clips), np.nan) for name in JUDGED_ON if column in tables[name]}
    for f in np.unique(fold):
        test = fold == f
        model = fit(clips, tables, folds.unseen(clips, test) & within, column)
        if kept is not None:
            kept[int(f)] = model
        for name in out:
            out[name][test] = clip_scores(model, tables[name], test, column)[test]
    return out


def strict(clips, tables, fold):
    """Corpus -> (test mask, clean scores) with that speech corpus wholly unseen."""
    return {name: (test, clip_scores(fit(clips, tables, train), tables["clean"], test))
            for name, train, test in folds.strict_splits(clips, fold)}


def scale_drift(clips, tables, fold, large):
    """Spread of scores by models with one fold fewer against `large`, those of
    models with all other folds, on the same unseen clips; and `final`, by how much the model of all clips
    should then spread wider still (a power law in the amount of data)."""
    small, k = np.full(len(clips), np.nan), len(np.unique(fold))
    for f in np.unique(fold):
        test = fold == f
        fewer = folds.unseen(clips, test) & (fold != (f + 1) % k)
        small[test] = clip_scores(fit(clips, tables, fewer), tables["clean"], test)[test]
    wider = float(large.std() / small.std())
    exponent = np.log(wider) / np.log((k - 1) / (k - 2))
    return dict(deviation=wider, shift=float(large.mean() - small.mean()), final=float((k / (k - 1)) ** exponent))
