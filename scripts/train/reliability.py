"""How far figures can be trusted: calibration error, what a validation set can support at all, and intervals of shares."""

import numpy as np
from scipy.stats import beta

BINS = 15
STEP = 0.01  # of the search for limits, in log-odds


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


def exact_interval(count, n):
    """The 95 % limits of a share, count of n independent items.

    Clopper and Pearson: The use of confidence or fiducial limits illustrated in the case of the binomial, Biometrika 26
    (1934). A count that is not whole, as of weighted items, is rounded outwards: down for the lower limit, up for the other.
    """
    few, many = np.floor(round(count, 6)), np.ceil(round(count, 6))
    low = beta.ppf(0.025, few, n - few + 1) if few > 0 else 0.0
    high = beta.ppf(0.975, many + 1, n - many) if many < n else 1.0
    return [float(low), float(high)]


def widened(interval, hit, weights, items):
    """An interval of the share of the weight that is hit, no narrower at either end than the exact one.

    A bootstrap of one or two hits draws none or few of them again and is too sure. Items that come in clusters, as of one
    repository, cannot be surer than independent ones. Rows that share one of items, as a file under several conditions,
    count as one, and weights make fewer of them (effective).
    """
    hit, weights = np.asarray(hit, float), np.asarray(weights, float)
    n = effective(np.bincount(np.unique(items, return_inverse=True)[1], weights))
    low, high = exact_interval(float(weights @ hit / weights.sum()) * n, n)
    return [min(interval[0], low), max(interval[1], high)]


def limits(labels, log_odds, weights, items=None):
    """The log-odds beyond which the set supports no claim, [low, high] with low <= 0 <= high.

    The empirical bounds of Vergeer, van Es, de Jongh, Alberink and Stoel: Numerical likelihood ratios outputted by LR
    systems are often based on extrapolation: when to stop extrapolating? Science & Justice 56 (2016). Who decides for
    fake where the odds exceed t pays misses(t) + t * alarms(t); who never looks pays min(1, t). One genuine item more,
    called fake at any t, is supposed, and for low likewise one fake missed. high is the largest t up to which, from 1
    on, looking is nowhere dearer; low is its mirror. Without errors at the extremes they are at most log(n + 1) and at
    least -log(n + 1), with n the effective number of items; overconfident errors draw them in.

    weights balance the rows. Rows that share one of items, as a file under several conditions, count as one.
    """
    labels, log_odds, weights = np.asarray(labels), np.asarray(log_odds, float), np.asarray(weights, float)
    items = np.arange(len(labels)) if items is None else np.unique(items, return_inverse=True)[1]
    return [0.0 - bound(1 - labels, -log_odds, weights, items), bound(labels, log_odds, weights, items)]


def bound(labels, log_odds, weights, items):
    """The upper of the two limits."""
    together = np.bincount(items[labels == 0], weights[labels == 0])
    n = effective(together[together > 0])
    steps = np.arange(0, np.log(n + 1) + STEP, STEP)
    above = log_odds[:, None] > steps
    real, fake = weights * (labels == 0), weights * (labels == 1)
    alarms = (n * (real @ above) / real.sum() + 1) / (n + 1)
    misses = 1 - (fake @ above) / fake.sum()
    dear = np.flatnonzero(misses[1:] + np.exp(steps[1:]) * alarms[1:] > 1)
    return round(float(steps[dear[0] if len(dear) else -1]), 2)
