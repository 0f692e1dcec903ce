"""AUC, equal error rate, rates at thresholds, bootstrap intervals."""
import numpy as np


def auc(label, score):
    """Area under the ROC curve; ties count half."""
    u, inverse, n = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(n) - (n - 1) / 2)[inverse]
    fakes = int(label.sum())
    reals = len(label) - fakes
    return (rank[label == 1].sum() - fakes * (fakes + 1) / 2) / (fakes * reals)


def eer(label, score):
    """Equal error rate: where false positives and misses are closest."""
    real, fake, t = np.sort(score[label == 0]), np.sort(score[label == 1]), np.unique(score)
    positives = 1 - np.searchsorted(real, t, "left") / len(real)
    misses = np.searchsorted(fake, t, "left") / len(fake)
    i = np.argmin(np.abs(positives - misses))
    return (positives[i] + misses[i]) / 2


def threshold(real, share):
    """Lowest threshold with at most a share of the genuine scores at or above it."""
    s = np.sort(real)[::-1]
    return np.nextafter(s[int(np.floor(share * len(s)))], np.inf)


def resamples(label, group, times=500, seed=0):
    """Index arrays that resample whole groups (repositories)."""
    r = np.random.RandomState(seed)
    rows = [np.flatnonzero(group == g) for g in np.unique(group)]
    for _ in range(times):
        i = np.concatenate([rows[k] for k in r.randint(len(rows), size=len(rows))])
        if 3 < label[i].sum() < len(i) - 3:
            yield i


def interval(values):
    """95 % percentile interval."""
    return [float(v) for v in np.percentile(values, [2.5, 97.5])]


def report(label, score, group):
    """AUC with interval, EER, detection at 1, 5 and 15 % false positives, counts."""
    rates = {f: float((score[label == 1] >= threshold(score[label == 0], f)).mean()) for f in (0.01, 0.05, 0.15)}
    spread = [auc(label[i], score[i]) for i in resamples(label, group)]
    return dict(auc=float(auc(label, score)), auc_interval=interval(spread), eer=float(eer(label, score)),
                rates=rates, real=int((label == 0).sum()), fake=int(label.sum()))
