"""How like the training media a row is, so that little is said of what no model has learned to judge."""

import numpy as np
import torch
import torch.nn as nn
from sklearn.utils.extmath import randomized_svd

DIRECTIONS = 128  # in which the statistics of the training media vary most
FAR = 4.0  # deviations beyond which a statistic counts no further
LEVELS = 0.95, 0.99  # quantiles of the distance of media of other repositories, at which likeness begins to fall and is none
APART = 5  # one repository in so many draws those quantiles, and no direction is taken from it


class Likeness(nn.Module):
    """N×D statistics to N numbers from 1, like the training media, to 0, unlike them.

    The distance of a row is what its standardised statistics hold outside the directions in which those of the training
    media vary most, over the mean of that. It needs no labels: charts, screens of text, patterns and noise lie far away.
    """

    def __init__(self, mean, deviation, directions, usual, limits):
        """directions is D×K, orthonormal; usual is the mean square outside of them; limits are the distances of likeness 1 and 0."""
        super().__init__()
        for name, value in (("mean", mean), ("inverse", 1 / deviation), ("directions", directions)):
            self.register_buffer(name, torch.as_tensor(value, dtype=torch.float32))
        self.usual, self.limits = float(usual), tuple(map(float, limits))

    def distance(self, x):
        """The distance of each row, about 1 for media as in training."""
        x = ((x - self.mean) * self.inverse).clamp(-FAR, FAR)
        return ((x * x).sum(1) - ((x @ self.directions) ** 2).sum(1)) / self.usual

    def forward(self, x):
        """The likeness of each row."""
        near, far = self.limits
        return ((far - self.distance(x)) / (far - near)).clamp(0, 1)


class Weighed(nn.Module):
    """A head whose log-odds count as much as the row is like the training media: N×D statistics to N×2, log-odds and likeness.

    Whoever judges multiplies the two. They are told apart, so that the self-test of the model, which shows it noise, sees the log-odds.
    """

    def __init__(self, head, likeness, columns):
        """columns are the ranges of the statistics by which likeness is told."""
        super().__init__()
        self.head, self.likeness, self.columns = head, likeness, columns

    def forward(self, x):
        """Log-odds and likeness."""
        return torch.stack([self.head(x), self.likeness(torch.cat([x[:, low:high] for low, high in self.columns], 1))], 1)


def weighed(head, items, features, options, seed):
    """The head, with the likeness to what it was trained on; options are those of training."""
    random, columns = np.random.RandomState(seed), options["likeness"]
    rows = np.stack([chosen(f, random, options.get("small", 0)) for f in features])
    rows = np.concatenate([rows[:, low:high] for low, high in columns], 1).astype(np.float32)
    return Weighed(head, fitted(rows, [i.repository for i in items], random), columns).eval().requires_grad_(False)


def chosen(features, random, small):
    """One row of an item, of those that it is judged by; of those of its reduced views where chance, of which small is the share, has it so."""
    rows = [row for name in ("clean", "overview") for row in features[name]]
    if len(features.get("small", ())) and random.rand() < small:
        rows = features["small"]
    return rows[random.randint(len(rows))]


def fitted(rows, repositories, random):
    """The likeness to rows: directions of most repositories, limits of the others."""
    names = sorted(set(repositories))
    others = set(random.permutation(names)[::APART])
    apart = np.array([name in others for name in repositories])
    known = rows[~apart]
    mean, deviation = known.mean(0), known.std(0) + 1e-6
    standard = np.clip((known - mean) / deviation, -FAR, FAR)
    _, _, directions = randomized_svd(standard, min(DIRECTIONS, *standard.shape), n_iter=2, random_state=0)
    usual = ((standard**2).sum(1) - ((standard @ directions.T) ** 2).sum(1)).mean()
    likeness = Likeness(mean, deviation, directions.T.copy(), usual, (0, 1))
    likeness.limits = tuple(map(float, np.quantile(likeness.distance(torch.from_numpy(rows[apart])).numpy(), LEVELS)))
    return likeness
