"""Platt scaling, its error and its limits, and operating points, from out-of-fold clip scores."""
import numpy as np
from sklearn.linear_model import LogisticRegression

import folds
import metrics

LEVELS = (("strict", 0.01), ("balanced", 0.05), ("sensitive", 0.15))
# Share of each condition in calibration and thresholds.
POOLED = {"clean": 1 / 3, "mp3-64": 1 / 3, "telephone": 1 / 6, "degraded-0": 1 / 6}


def pooled(clips, scores):
    """Labels, scores, weights and repositories of all conditions together. The
    weights balance labels, repositories and systems within each condition."""
    label = np.array([c["label"] for c in clips])
    group = np.array([c["repository"] for c in clips])
    n = len(POOLED)
    return (np.tile(label, n), np.concatenate([scores[c] for c in POOLED]),
            np.concatenate([folds.balanced(clips) * share for share in POOLED.values()]), np.tile(group, n))


def platt(label, score, weight):
    """Scale and bias of log-odds of fake at equal priors."""
    model = LogisticRegression(C=1e6).fit(score[:, None], label, weight * len(label))
    return dict(method="platt", scale=float(model.coef_[0, 0]), bias=float(model.intercept_[0]))


def odds(calibration, score):
    """Natural-log odds of fake at equal priors."""
    return calibration["scale"] * score + calibration["bias"]


def probability(calibration, score):
    """P(fake) at equal priors."""
    return 1 / (1 + np.exp(-odds(calibration, score)))


def condition_error(clips, calibration, score):
    """Expected calibration error of one condition's clips, balanced; those without
    a score (NaN) are left out."""
    chosen = [c for c, s in zip(clips, score) if not np.isnan(s)]
    label = np.array([c["label"] for c in chosen])
    return error(label, probability(calibration, score[~np.isnan(score)]), folds.balanced(chosen))


def error(label, p, weight, bins=15):
    """Expected calibration error of P(fake): the mean over `bins` bins of equal weight
    of the distance between mean probability and share of fakes, all weighted. An
    item lies in the bin of the middle of its stretch of the cumulated weight."""
    order = np.argsort(p, kind="stable")
    label, p, weight = label[order], p[order], weight[order] / weight.sum()
    place = np.minimum(((np.cumsum(weight) - weight / 2) * bins).astype(int), bins - 1)
    return float(np.abs(np.bincount(place, weight * (p - label), bins)).sum())


def limits(label, odds, weight, item):
    """[low, high]: natural-log likelihood ratios of fake beyond which the validation
    supports no claim: the empirical lower and upper bound of Vergeer, van Es, de
    Jongh, Alberink and Stoel, "Numerical likelihood ratios outputted by LR systems
    are often based on extrapolation: when to stop extrapolating?", Science & Justice
    56 (2016) 482-491.

    Who decides for fake where the ratio exceeds t pays misses(t) + t * alarms(t); who
    never looks pays min(1, t). One genuine item more, called fake at any t, is
    supposed: alarms(t) = (n * share + 1) / (n + 1), and for low likewise one fake
    missed. high is the largest ratio up to which, from 1 on, looking is nowhere
    dearer; low is its mirror. Without errors at the extremes they are at most
    log(n + 1) and at least -log(n + 1); overconfident errors draw them in.

    odds are the natural-log likelihood ratios (P(fake) at equal priors). weight
    balances the rows; n is Kish's effective sample size, (sum w)^2 / sum w^2, of the
    class, over items: rows that share an `item`, as conditions of one clip, count
    as one, with their weights summed.
    """
    return [-bound(1 - label, -odds, weight, item), bound(label, odds, weight, item)]


def bound(label, odds, weight, item):
    """The upper of the two limits."""
    per_item = np.bincount(item[label == 0], weight[label == 0])
    n = per_item.sum() ** 2 / (per_item ** 2).sum()
    steps = np.arange(0, np.log(n + 1) + 0.01, 0.01)
    above = odds[:, None] > steps
    real, fake = weight * (label == 0), weight * (label == 1)
    alarms = (n * (real @ above) / real.sum() + 1) / (n + 1)
    misses = 1 - (fake @ above) / fake.sum()
    dear = np.flatnonzero(misses[1:] + np.exp(steps[1:]) * alarms[1:] > 1)
    return float(steps[dear[0] if len(dear) else -1])


def weighted_threshold(score, weight, share):
    """Threshold that at most a share of the weight reaches or exceeds."""
    order = np.argsort(-score)
    total = np.cumsum(weight[order]) / weight.sum()
    first = np.searchsorted(total, share, "right")
    return float(np.nextafter(score[order[min(first, len(order) - 1)]], np.inf))


def detected(label, hit, weight):
    """Share of the fakes' weight that is hit."""
    fake = label == 1
    return float((hit * weight)[fake].sum() / weight[fake].sum())


def operating_points(label, score, weight, group, calibration):
    """Name -> threshold on P(fake), aimed false positives, detection with interval."""
    p, out = probability(calibration, score), {}
    for name, share in LEVELS:
        t = weighted_threshold(p[label == 0], weight[label == 0], share)
        hit = p >= t
        spread = [detected(label[i], hit[i], weight[i]) for i in metrics.resamples(label, group)]
        out[name] = dict(false_positive_rate=share, threshold=t, detection_rate=detected(label, hit, weight),
                         detection_interval=metrics.interval(spread))
    return out


def false_positives(clips, p, points):
    """Level -> plain and balanced share of genuine clips called fake."""
    real = np.array([c["label"] for c in clips]) == 0
    w = folds.balanced(clips)[real]
    hits = {name: p[real] >= point["threshold"] for name, point in points.items()}
    return {name: (float(h.mean()), float((h * w).sum() / w.sum())) for name, h in hits.items()}
