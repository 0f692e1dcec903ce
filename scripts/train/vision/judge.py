"""The network of the picture and the face model: statistics of what a vision transformer makes of a picture, judged by a small one."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from vision.transformer import Transformer

FAR = 4.0  # deviations from the mean beyond which a statistic counts no further


class Statistics(nn.Module):
    """N×3×224×224 in [-1, 1] to what is said of the outputs of some blocks of an untouched transformer, and of the picture itself, N×D."""

    def __init__(self, weights, taps, residuals=None):
        """taps are the numbers of the blocks; residuals makes statistics of the picture itself, there may be none."""
        super().__init__()
        self.transformer, self.residuals = Transformer(weights, taps), residuals

    def forward(self, x):
        """The statistics of all taps, one after the other, then those of the picture itself."""
        further = [self.residuals(x)] if self.residuals else []
        return torch.cat([self.transformer(x)] + further, 1)


class Compared(nn.Module):
    """N×2×3×224×224, a face and a wider crop of it, to the statistics of the first and how they differ from those of the second, N×2D.

    What camera, light and compression make of statistics is much the same in both, and cancels out.
    """

    def __init__(self, statistics_of):
        super().__init__()
        self.each = statistics_of

    def forward(self, x):
        """The statistics of the face, then the differences."""
        both = self.each(x.reshape(-1, *x.shape[2:]))
        both = both.view(-1, 2, both.shape[1])
        return torch.cat([both[:, 0], both[:, 0] - both[:, 1]], 1)


class Head(nn.Module):
    """N×D statistics to N log-odds: brought to one scale, one hidden layer."""

    def __init__(self, mean, deviation, hidden):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("inverse", 1 / deviation)
        self.hidden, self.last = nn.Linear(len(mean), hidden), nn.Linear(hidden, 1)

    def forward(self, x, dropout=(0.0, 0.0)):
        """The log-odds; dropout is that of the statistics and of the hidden layer."""
        x = ((x - self.mean) * self.inverse).clamp(-FAR, FAR)
        x = F.relu(self.hidden(F.dropout(x, dropout[0], self.training)))
        return self.last(F.dropout(x, dropout[1], self.training))[:, 0]


def together(heads):
    """One head that says the mean of what several of one scale say."""
    merged = Head(heads[0].mean, 1 / heads[0].inverse, sum(h.hidden.out_features for h in heads))
    merged.hidden.weight.data = torch.cat([h.hidden.weight.data for h in heads])
    merged.hidden.bias.data = torch.cat([h.hidden.bias.data for h in heads])
    merged.last.weight.data = torch.cat([h.last.weight.data for h in heads], 1) / len(heads)
    merged.last.bias.data = sum(h.last.bias.data for h in heads) / len(heads)
    return merged.eval().requires_grad_(False)


class Judge(nn.Module):
    """What is served: N×3×S×S in [-1, 1] to N log-odds, or N×2 where the head also says how like the training media a row is."""

    def __init__(self, statistics_of, head):
        super().__init__()
        self.statistics, self.head = statistics_of, head

    def forward(self, x):
        """What the head says of each row."""
        return self.head(self.statistics(x))
