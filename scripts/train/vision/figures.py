"""Figures: AUC, equal error rate, intervals, calibration, operating points."""

from collections import Counter

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve

import reliability
from vision.folds import equal_weights

ROUNDS = 1000
ANY = "any"  # medium
DIGITS = 6  # of a threshold; the chances of a model without skill lie within a thousandth
DRIFT = 0.5, 0.995, 100  # lowest and highest quantile that scores are carried over by, and how many: where the lines are
POINTS = {"strict": 0.01, "balanced": 0.05, "sensitive": 0.15}
EXCESS = 3  # times the rate of a line that a kind of genuine media may be called fake at it
ENOUGH = 50  # items of a kind that say something of it


def equal_error_rate(labels, scores):
    """Where the shares of false positives and of misses meet, which may be amid a straight part of the curve."""
    false_positives, detected, _ = roc_curve(labels, scores, drop_intermediate=False)
    nearest = np.argmin(np.abs(false_positives - (1 - detected)))
    return float((false_positives[nearest] + 1 - detected[nearest]) / 2)


def resamples(labels, repositories, rounds=ROUNDS, seed=0):
    """Yields indices of bootstrap samples: repositories are drawn, inside each class, with all they have."""
    random = np.random.RandomState(seed)
    parts = {0: [], 1: []}
    for key in sorted(set(zip(labels, repositories))):
        rows = [i for i, k in enumerate(zip(labels, repositories)) if k == key]
        parts[key[0]].append(np.array(rows))
    for _ in range(rounds):
        drawn = [p[i] for p in parts.values() if p for i in random.randint(0, len(p), len(p))]
        yield np.concatenate(drawn)


def interval(values):
    """The middle 95 %."""
    low, high = np.quantile(values, [0.025, 0.975])
    return [round(float(low), 3), round(float(high), 3)]


def measure(labels, scores, repositories, set_name, condition, note="", calibration=None):
    """One Measurement of the card; with the calibration error where the scores have a calibration."""
    labels, scores = np.asarray(labels), np.asarray(scores)
    again = [roc_auc_score(labels[i], scores[i]) for i in resamples(labels, repositories)]
    result = {
        "set": set_name, "condition": condition,
        "auc": round(float(roc_auc_score(labels, scores)), 3), "auc_interval": interval(again),
        "eer": round(equal_error_rate(labels, scores), 3),
        "real": int((labels == 0).sum()), "fake": int((labels == 1).sum()),
    }
    if calibration:
        chances = probability(calibration, scores)
        error = reliability.expected_calibration_error(labels, chances, equal_weights(labels, repositories))
        result["ece"] = round(error, 3)
    return result | ({"note": note} if note else {})


def by_condition(scored, scores, calibration, set_name, conditions):
    """Measurements of the card from out-of-fold scores, in any precision, by the model's own calibration."""
    chosen = [i for i in scored if not i.made]
    labels, repositories = np.array([i.fake for i in chosen]), np.array([i.repository for i in chosen])
    scores = scores[np.array([not i.made for i in scored])]
    return [
        measure(labels, scores[:, k], repositories, set_name, name, calibration=calibration)
        for k, name in enumerate(conditions)
    ]


def counted(labels, kinds):
    """The kinds of media of each class that have enough items to count by themselves; the others are one kind, without a name."""
    size = Counter(zip(labels, kinds))
    return np.array([kind if size[label, kind] >= ENOUGH else "" for label, kind in zip(labels, kinds)])


def calibrate(labels, scores, repositories, kinds=None):
    """Platt scaling (1999): log-odds = scale*score + bias. Classes, kinds of media if they are given, and their repositories count equally."""
    weights = equal_weights(labels, repositories, kinds)
    model = LogisticRegression(C=1e6, max_iter=1000)
    model.fit(np.asarray(scores)[:, None], labels, sample_weight=weights * len(labels))
    return {"method": "platt", "scale": float(model.coef_[0, 0]), "bias": float(model.intercept_[0])}


def limits(labels, scores, repositories, calibration):
    """The log-odds beyond which the items support no claim; scores is N×conditions, and an item seen twice is still one."""
    count = scores.shape[1]
    odds = calibration["scale"] * scores.T.ravel() + calibration["bias"]
    weights = np.tile(equal_weights(labels, repositories), count)
    return reliability.limits(np.tile(labels, count), odds, weights, np.tile(np.arange(len(labels)), count))


def carried_over(calibration, unseen, known):
    """The calibration of the final model, which knows what the models of the folds had to do without, and says more of everything.

    unseen and known are for each medium what genuine items score by models that lack what
    is judged beside them, and by those that lack no more than their repository. The second
    go over into the first, which calibration is of, by a line through their quantiles.
    """
    at = np.linspace(*DRIFT)
    quantiles = lambda media: np.concatenate([np.quantile(scores, at) for scores in media])
    scale, bias = np.polyfit(quantiles(known), quantiles(unseen), 1)
    over = lambda c: {**c, "scale": c["scale"] * float(scale), "bias": c["scale"] * float(bias) + c["bias"]}
    return over(calibration) | {name: [over(c) for c in calibration[name]] for name in ("sizes",) if name in calibration}


def probability(calibration, scores):
    """P(fake) at equal priors."""
    return 1 / (1 + np.exp(-(calibration["scale"] * np.asarray(scores) + calibration["bias"])))


def share_interval(caught, own, samples, items):
    """The interval of the share that is caught of the rows in the mask."""
    again = [caught[i][own[i]].mean() for i in samples]
    return [round(v, 3) for v in reliability.widened(interval(again), caught[own], np.ones(own.sum()), items[own])]


def line_of(rate, chances, items, kinds):
    """The threshold that so many of the genuine chances are above, or that keeps every kind below EXCESS times that; and the kind that raised it."""
    threshold, raised = float(np.quantile(chances, 1 - rate)), ""
    for kind in sorted(set(kinds) - {""}):
        own = kinds == kind
        if len(set(items[own])) >= ENOUGH and EXCESS * rate < 1:
            least = float(np.quantile(chances[own], 1 - EXCESS * rate))
            threshold, raised = (least, kind) if least > threshold else (threshold, raised)
    return round(threshold, DIGITS), raised


def operating_points(labels, chances, repositories, items=None, kinds=None):
    """Thresholds on P(fake) by the share of genuine items above them, and what they catch.

    Rows that share one of items, as a file under several conditions or the frames of a clip, are one item to the intervals.
    kinds are those of media; a line is where no kind of genuine media is called fake too often (line_of).
    """
    labels, chances = np.asarray(labels), np.asarray(chances)
    items = np.arange(len(labels)) if items is None else np.asarray(items)
    kinds, genuine = np.full(len(labels), "") if kinds is None else np.asarray(kinds), labels == 0
    samples = list(resamples(labels, repositories))
    points = {}
    for name, rate in POINTS.items():
        threshold, _ = line_of(rate, chances[genuine], items[genuine], kinds[genuine])
        caught = chances >= threshold
        alarms, found = (share_interval(caught, labels == fake, samples, items) for fake in (0, 1))
        points[name] = {
            "false_positive_rate": rate, "false_positive_interval": alarms, "threshold": threshold,
            "detection_rate": round(float(caught[labels == 1].mean()), 3), "detection_interval": found,
        }
    return points


def lines_of_views(labels, repositories, items, scores, calibration, kinds=None):
    """The operating points of all conditions together; scores is N×conditions, and what has none is left out."""
    count = scores.shape[1]
    kinds = [""] * len(labels) if kinds is None else kinds
    labels, repositories, items, kinds = (np.tile(fact, count) for fact in (labels, repositories, items, kinds))
    known = ~np.isnan(scores.T.ravel())
    return operating_points(labels[known], probability(calibration, scores.T.ravel()[known]), repositories[known], items[known], kinds[known])


def on_card(lines):
    """What a card says of the operating points by medium."""
    return {"operating_points": lines[ANY], "operating_points_by_medium": {medium: points for medium, points in lines.items() if medium != ANY}}
