"""The network of the picture and the face model: statistics of the maps of an untouched MobileNetV2, judged by a small one."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from vision.backbone import build

DEPTH = 61  # layers of the backbone; the last one, which is the widest, adds nothing
# The output of every block: textures in the first of them, things in the last.
TAPS = (2, 4, 5, 9, 12, 16, 20, 23, 27, 31, 35, 38, 42, 46, 49, 53, 57, 60)
PART = 7  # side of the parts of a map that are averaged first: of 224 pixels, every map's side is a multiple of it
FAR = 4.0  # deviations from the mean beyond which a statistic counts no further


def statistics(maps):
    """Mean and deviation of each channel, N×2C, by pooling, for which ONNX Runtime leaves maps in the layout of convolutions."""
    mean = averaged(maps)
    variance = averaged(maps * maps) - mean.square()
    return torch.cat([mean, torch.sqrt(variance.clamp(min=0) + 1e-4)], 1)


def averaged(maps):
    """The mean of each channel, N×C, of the means of parts: a long sum of like numbers is rounded to one side at every step."""
    return F.adaptive_avg_pool2d(F.avg_pool2d(maps, PART), 1).flatten(1)


class Statistics(nn.Module):
    """N×3×S×S in [-1, 1] to the mean and the deviation of each channel of the maps, and what is said of the picture itself, N×D."""

    def __init__(self, weights, size, residuals=None):
        """residuals makes statistics of the picture itself; there may be none."""
        super().__init__()
        self.backbone, self.residuals = build(weights, size), residuals
        self.backbone.cut(DEPTH)

    def forward(self, x):
        """The statistics of all taps, one after the other, then those of the picture itself."""
        outputs = self.backbone.outputs(x)
        further = [self.residuals(x)] if self.residuals else []
        return torch.cat([statistics(outputs[k + 1]) for k in TAPS] + further, 1)


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
    """What is served: N×3×S×S in [-1, 1] to N log-odds."""

    def __init__(self, statistics_of, head):
        super().__init__()
        self.statistics, self.head = statistics_of, head

    def forward(self, x):
        """The log-odds of fake of each row."""
        return self.head(self.statistics(x))
