"""Figures that do not reward what a picture shows: sets whose generated and genuine pictures show the same, and each kind of media by itself."""

import numpy as np
from sklearn.metrics import roc_auc_score

from vision import figures, report

FEWEST = 8  # items of either label that a set needs
SAME = "same subjects on both sides, sets left out as a whole, five folds"
CONDITIONS = ("clean", "JPEG q60 at no more than 768 pixels")

HEADER = """
## The same subjects

Sets whose generated and genuine pictures show the same kinds of things, none of whose repository the model had seen. AUC clean / shared.

| set | real | fake | AUC | genuine called fake, balanced | generated called fake, balanced |
|---|---|---|---|---|---|
"""

KINDS = """
## Kinds of genuine pictures

Shares called fake, clean / shared, of kinds with at least {enough} items. A line is where no kind is called fake more than {excess} times as often as it promises.

| kind | n | strict | balanced | sensitive |
|---|---|---|---|---|
"""


def sets(items):
    """Name -> rows of each set that has enough of both labels."""
    names, labels = np.array([i.pair for i in items]), np.array([i.fake for i in items])
    found = {}
    for name in sorted(set(names) - {""}):
        rows = np.flatnonzero(names == name)
        if np.bincount(labels[rows], minlength=2).min() >= FEWEST:
            found[name] = rows
    return found


def areas(items, scores):
    """Name -> AUC of each set under each condition."""
    labels = np.array([i.fake for i in items])
    return {name: [float(roc_auc_score(labels[rows], column)) for column in scores[rows].T] for name, rows in sets(items).items()}


def measured(items, scores, calibration):
    """Measurements of the card: the mean of all sets, and the worst one; none where there are no sets."""
    found = areas(items, scores)
    if not found:
        return []
    rows, labels = np.concatenate(list(sets(items).values())), np.array([i.fake for i in items])
    random, each = np.random.RandomState(0), np.array(list(found.values()))
    drawn = [each[random.randint(0, len(each), len(each))].mean(0) for _ in range(figures.ROUNDS)]
    result = []
    for k, condition in enumerate(CONDITIONS):
        worst = min(found, key=lambda name: found[name][k])
        result.append({
            "set": SAME, "condition": condition, "auc": round(float(each[:, k].mean()), 3), "auc_interval": figures.interval([d[k] for d in drawn]),
            "eer": round(figures.equal_error_rate(labels[rows], scores[rows, k]), 3),
            "real": int((labels[rows] == 0).sum()), "fake": int((labels[rows] == 1).sum()),
            "note": f"the mean of {len(found)} sets, of which the worst, {worst}, has {found[worst][k]:.2f}; the interval is of sets drawn again, the error rate of all files together",
        })
    return result


def tables(items, scores, calibration, lines):
    """Set by set, and kind by kind, for RESULTS.md; nothing where there are neither."""
    chances, labels = figures.probability(calibration, scores), np.array([i.fake for i in items])
    level = {name: np.array([[lines[report.medium(i)][name]["threshold"]] for i in items]) for name in figures.POINTS}
    called, text, found = {name: chances >= limit for name, limit in level.items()}, "", areas(items, scores)
    both = lambda values: " / ".join(f"{v:.2f}" for v in values)
    for name, rows in sorted(sets(items).items(), key=lambda pair: found[pair[0]][0]):
        shares = [both(called["balanced"][rows[labels[rows] == label]].mean(0)) for label in (0, 1)]
        counts = np.bincount(labels[rows])
        text += f"| {name} | {counts[0]} | {counts[1]} | {both(found[name])} | {' | '.join(shares)} |\n"
    text = HEADER + text if text else ""
    kinds = np.array([i.kind if not i.fake else "" for i in items])
    some = [kind for kind in sorted(set(kinds) - {""}) if (kinds == kind).sum() >= figures.ENOUGH]
    if some:
        text += KINDS.format(enough=figures.ENOUGH, excess=figures.EXCESS)
    for kind in some:
        own = kinds == kind
        text += f"| {kind} | {own.sum()} | {' | '.join(both(called[name][own].mean(0)) for name in figures.POINTS)} |\n"
    return text
