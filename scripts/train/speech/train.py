"""Fitting on clean and degraded windows; out-of-fold scores of whole clips."""
import numpy as np

import folds
from classifier import SVM
from features import CONDITIONS, DEGRADED

# Weight of a clip's windows in each condition that is trained on.
TRAINED_ON = {"clean": 1.0, "telephone": 0.15, **{f"degraded-{k}": 0.15 for k in range(DEGRADED)}}
JUDGED_ON = [*CONDITIONS, "degraded-0"]


def rows(clips, tables, chosen, column="x"):
    """Training rows of the chosen clips: values, labels, weights."""
    index = np.flatnonzero(chosen)
    weight = np.zeros(len(clips))
    weight[index] = folds.balanced([clips[i] for i in index])
    label = np.array([c["label"] for c in clips])
    x, y, w = [], [], []
    for name, condition_weight in TRAINED_ON.items():
        owner = tables[name]["clip"]
        take = chosen[owner]
        share = condition_weight * weight[owner] / np.bincount(owner, minlength=len(clips))[owner]
        x.append(tables[name][column][take])
        y.append(label[owner][take])
        w.append(share[take])
    return np.concatenate(x), np.concatenate(y), np.concatenate(w)


def fit(clips, tables, chosen, column="x"):
    """A classifier from the chosen clips."""
    return SVM(*rows(clips, tables, chosen, column))


def clip_scores(model, table, chosen, column="x"):
    """Mean decision value over the windows of each chosen clip, NaN elsewhere."""
    owner = table["clip"]
    take = chosen[owner]
    value = model.score(table[column][take])
    n = len(chosen)
    with np.errstate(invalid="ignore"):
        return np.bincount(owner[take], value, n) / np.bincount(owner[take], minlength=n)


def out_of_fold(clips, tables, fold, column="x"):
    """Condition -> score of each clip by the model that did not see its repository."""
    out = {name: np.full(len(clips), np.nan) for name in JUDGED_ON}
    for f in np.unique(fold):
        test = fold == f
        model = fit(clips, tables, ~test, column)
        for name in out:
            out[name][test] = clip_scores(model, tables[name], test, column)[test]
    return out


def strict(clips, tables, fold):
    """Corpus -> (test mask, clean scores) with that speech corpus wholly unseen."""
    return {name: (test, clip_scores(fit(clips, tables, train), tables["clean"], test))
            for name, train, test in folds.strict_splits(clips, fold)}


def scale_drift(clips, tables, fold):
    """Spread of scores by models with one fold fewer against models with all other
    folds, on the same unseen clips; and `final`, by how much the model of all clips
    should then spread wider still (a power law in the amount of data)."""
    small, large = [], []
    for f in np.unique(fold):
        test = fold == f
        fewer = ~test & (fold != (f + 1) % (fold.max() + 1))
        for keep, into in ((fewer, small), (~test, large)):
            into.append(clip_scores(fit(clips, tables, keep), tables["clean"], test)[test])
    a, b = np.concatenate(small), np.concatenate(large)
    wider, k = float(b.std() / a.std()), len(np.unique(fold))
    exponent = np.log(wider) / np.log((k - 1) / (k - 2))
    return dict(deviation=wider, shift=float(b.mean() - a.mean()), final=float((k / (k - 1)) ** exponent))
