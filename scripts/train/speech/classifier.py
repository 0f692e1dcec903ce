"""Weighted standardisation and RBF-SVMs over the statistics."""
import numpy as np
from sklearn.svm import SVC

COST = 10.0
STATISTICS = 484  # columns; the network's follow
# Columns of each classifier, and its gamma, which is divided by their number.
PARTS = ((slice(0, STATISTICS), 0.15), (slice(STATISTICS, None), 0.5))

BOUND = 6.0  # deviations
STEP = BOUND / 127  # support vectors are kept in 8 bits: a quarter of the size
STRANGE, FAMILIAR = 0.4, 0.6  # kernel values, see Pair
LEAST = 0.03  # what remains of a value that means nothing; not 0, so that a self-test on noise tells something


class Scaler:
    """Weighted mean and deviation; values are clipped to BOUND deviations."""

    def __init__(self, x, weight):
        self.mean = np.average(x, 0, weight)
        self.deviation = np.sqrt(np.average((x - self.mean) ** 2, 0, weight)) + 1e-4

    def __call__(self, x):
        return np.clip((x - self.mean) / self.deviation, -BOUND, BOUND).astype(np.float32)


def squared_distances(a, b):
    """[len(a), len(b)] by one matrix product."""
    return np.maximum((a * a).sum(1)[:, None] + (b * b).sum(1)[None] - 2 * a @ b.T, 0)


class SVM:
    """Fits on rows with labels and weights; `score` gives the decision value and
    the largest kernel value."""

    def __init__(self, x, label, weight, gamma):
        self.scaler = Scaler(x, weight)
        a = self.scaler(x)
        self.gamma = gamma / a.shape[1]
        kernel = np.exp(-self.gamma * squared_distances(a, a))
        fitted = SVC(C=COST, kernel="precomputed", cache_size=900).fit(kernel, label, weight / weight.mean())
        self.coded = np.round(a[fitted.support_] / STEP).astype(np.int8)
        self.vectors = self.coded.astype(np.float32) * np.float32(STEP)
        self.weights = fitted.dual_coef_[0]
        self.bias = float(fitted.intercept_[0])

    def score(self, x):
        """Decision and largest kernel values of rows."""
        near = np.exp(-self.gamma * squared_distances(self.scaler(x), self.vectors).astype(np.float64))
        return near @ self.weights + self.bias, near.max(1)


class Pair:
    """Two classifiers, of the statistics and of the network's, that count equally.

    A window whose statistics are unlike every support vector is nothing to judge:
    its value shrinks to LEAST as the largest kernel value falls from FAMILIAR to
    STRANGE. Of unseen speech 999 windows in 1,000 lie above 0.58 in every
    condition; tones, clicks and square waves lie below 0.38.
    """

    def __init__(self, x, label, weight):
        parts = PARTS if x.shape[1] > STATISTICS else ((slice(None), 0.15),)  # shortcuts have few columns
        self.svms = [SVM(x[:, columns], label, weight, gamma) for columns, gamma in parts]
        self.columns = [columns for columns, _ in parts]

    def narrowed(self, factor):
        """The same classifier with its values divided by `factor`."""
        for svm in self.svms:
            svm.weights, svm.bias = svm.weights / factor, svm.bias / factor
        return self

    def parts(self, x):
        """[parts, rows] values of each classifier, before what is strange shrinks."""
        return np.stack([svm.score(x[:, c])[0] for svm, c in zip(self.svms, self.columns)])

    def score(self, x):
        """Values of rows of statistics; those unlike anything in training come near 0."""
        values = [svm.score(x[:, c]) for svm, c in zip(self.svms, self.columns)]
        familiar = np.clip((values[0][1] - STRANGE) / (FAMILIAR - STRANGE), LEAST, 1)
        return np.mean([v for v, _ in values], axis=0) * familiar
