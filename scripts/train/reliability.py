"""How far probabilities can be trusted: calibration error, and what a validation set can support at all."""

import numpy as np

BINS = 15
STEP = 0.01  # of the search for limits, in log-odds
FURTHEST = 12.0  # log-odds; no set here is large enough for more


def expected_calibration_error(labels, chances, weights, bins=BINS):
    """The mean distance between P(fake) and the share of fakes, over bins of equal weight.

    Naeini, Cooper and Hauskrecht: Obtaining well calibrated probabilities using Bayesian binning, AAAI 2015; with bins
    of equal mass, which leave none empty. Items of one P(fake) have no order: each counts as all of them do together.
    """
    labels, chances, weights = (np.asarray(x, float) for x in (labels, chances, weights))
    _, alike = np.unique(chances, return_inverse=True)
    labels = (np.bincount(alike, weights * labels) / np.bincount(alike, weights))[alike]
    order = np.argsort(chances, kind="stable")
    labels, chances, weights = labels[order], chances[order], weights[order] / weights.sum()
    middle = np.cumsum(weights) - weights / 2
    index = np.minimum((middle * bins).astype(int), bins - 1)
    gaps = np.bincount(index, weights * (chances - labels), bins)
    return float(np.abs(gaps).sum())


def effective(weights):
    """How many items of equal weight say as much (Kish: Survey Sampling, 1965)."""
    weights = np.asarray(weights, float)
    return float(weights.sum() ** 2 / (weights**2).sum())


def limits(labels, log_odds, weights):
    """The log-odds beyond which the set supports no claim, [low, high] with low <= 0 <= high.

    The empirical bounds of Vergeer, van Es, de Jongh, Alberink and Stoel: Numerical likelihood ratios outputted by LR
    systems are often based on extrapolation: when to stop extrapolating? Science & Justice 56 (2016). Each class is
    given one misleading item more. Somebody who calls fake whatever has odds above t, and pays 1 for a fake missed and
    t for a false alarm, must then lose less than somebody who does not look (1 for t above 1, else t); the bounds are
    as far from even odds as that holds without a gap.
    """
    labels, log_odds, weights = np.asarray(labels), np.asarray(log_odds, float), np.asarray(weights, float)
    ends = []
    for sign in (1, -1):
        end = 0.0
        for t in np.arange(1, FURTHEST / STEP + 1) * STEP * sign:
            missed = share(log_odds[labels == 1] < t, weights[labels == 1])
            alarms = share(log_odds[labels == 0] >= t, weights[labels == 0])
            if missed + np.exp(t) * alarms >= min(1, np.exp(t)):
                break
            end = t
        ends.append(round(float(end), 2))
    return [ends[1], ends[0]]


def share(wrong, weights):
    """The weighted share that is wrong, with one wrong item more."""
    n = effective(weights)
    return (n * (wrong * weights).sum() / weights.sum() + 1) / (n + 1)
