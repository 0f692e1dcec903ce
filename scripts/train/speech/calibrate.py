"""Platt scaling, its error and its limits, and operating points, from out-of-fold clip scores."""
import sys
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

sys.path.append(str(Path(__file__).resolve().parents[1]))

import folds
import metrics
import reliability

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
    chances = probability(calibration, score[~np.isnan(score)])
    return reliability.expected_calibration_error(label, chances, folds.balanced(chosen))


def weighted_threshold(score, weight, share):
    """Threshold that at most a share of the weight reaches or exceeds."""
    order = np.argsort(-score)
    total = np.cumsum(weight[order]) / weight.sum()
    first = np.searchsorted(total, share, "right")
    return float(np.nextafter(score[order[min(first, len(order) - 1)]], np.inf))


def share_hit(own, hit, weight):
    """Share of the weight of the clips in the mask that is hit."""
    return float((hit * weight)[own].sum() / weight[own].sum())


def share_interval(own, hit, weight, item, samples):
    """95 % interval of share_hit, no narrower than that of as many independent clips
    as the weights are worth."""
    again = metrics.interval([share_hit(own[i], hit[i], weight[i]) for i in samples])
    return reliability.widened(again, hit[own], weight[own], item[own])


def operating_points(label, score, weight, group, calibration, item):
    """Name -> threshold on P(fake), aimed false positives, detection with interval.
    Rows that share an item, as the conditions of a clip, are one to the intervals."""
    p, out = probability(calibration, score), {}
    for name, share in LEVELS:
        t = weighted_threshold(p[label == 0], weight[label == 0], share)
        hit = p >= t
        samples = list(metrics.resamples(label, group))
        alarms, found = (share_interval(label == fake, hit, weight, item, samples) for fake in (0, 1))
        out[name] = dict(false_positive_rate=share, false_positive_interval=alarms, threshold=t,
                         detection_rate=share_hit(label == 1, hit, weight), detection_interval=found)
    return out


def false_positives(clips, p, points):
    """Level -> plain and balanced share of genuine clips called fake."""
    real = np.array([c["label"] for c in clips]) == 0
    w = folds.balanced(clips)[real]
    hits = {name: p[real] >= point["threshold"] for name, point in points.items()}
    return {name: (float(h.mean()), float((h * w).sum() / w.sum())) for name, h in hits.items()}
