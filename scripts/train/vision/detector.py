"""The network of the face model, and what training it takes."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from vision.backbone import build


class Detector(nn.Module):
    """Backbone, mean and deviation of the last feature map, one linear layer: the log-odds of fake.

    depth is how many layers are kept. Log-odds below floor, where given, are raised
    to it once training is over: finding nothing is then no evidence.
    """

    def __init__(self, weights, size, depth, floor=None):
        super().__init__()
        self.backbone, self.floor = build(weights, size), floor
        self.backbone.cut(depth)
        self.head = nn.Linear(2 * channels(self.backbone, depth - 1), 1)

    def pooled(self, x):
        """Mean and deviation of each channel of the last feature map."""
        return statistics(self.backbone(x))

    def forward(self, x, dropout=0.0):
        """N×3×S×S in [-1, 1] to N log-odds."""
        logits = self.head(F.dropout(self.pooled(x), dropout, self.training))[:, 0]
        return logits if self.training or self.floor is None else logits.clamp(min=self.floor)


def channels(backbone, layer):
    """How many channels the output of a layer has."""
    while not hasattr(backbone.layers[layer], "conv"):  # a sum is as wide as its parts
        layer -= 1
    return backbone.layers[layer].conv.out_channels


def statistics(maps):
    """Mean and deviation of each channel, N×2C, by pooling, for which ONNX Runtime leaves maps in the layout of convolutions."""
    mean = F.adaptive_avg_pool2d(maps, 1).flatten(1)
    variance = F.adaptive_avg_pool2d(maps * maps, 1).flatten(1) - mean.square()
    return torch.cat([mean, torch.sqrt(variance.clamp(min=0) + 1e-4)], 1)


def tensor(rows):
    """N×S×S×3 uint8 to what the network takes."""
    x = torch.from_numpy(np.ascontiguousarray(rows)).permute(0, 3, 1, 2).float() / 127.5 - 1
    return x.contiguous(memory_format=torch.channels_last)


def pooled_features(detector, rows):
    """Pooled features of uint8 rows."""
    with torch.no_grad():
        return detector.pooled(tensor(rows)).numpy()


def probe(detector, features, labels, weights, strength):
    """Sets the head to a logistic regression on the features (Kumar et al., 2022: probe, then tune)."""
    if not strength:  # no probe: tuning starts at zero
        detector.head.weight.data.zero_(), detector.head.bias.data.zero_()
        return
    scaler = StandardScaler().fit(features)
    model = LogisticRegression(C=strength, max_iter=500)
    model.fit(scaler.transform(features), labels, sample_weight=weights * len(labels))
    slope = model.coef_[0] / scaler.scale_
    detector.head.weight.data = torch.tensor(slope[None], dtype=torch.float32)
    detector.head.bias.data = torch.tensor([model.intercept_[0] - slope @ scaler.mean_], dtype=torch.float32)


def freeze(detector, layers):
    """Keeps the first layers of the backbone as they are; returns what is trained."""
    for layer in detector.backbone.layers[:layers]:
        layer.requires_grad_(False)
    return [p for p in detector.backbone.parameters() if p.requires_grad]


def follow(mean, net, keep):
    """Moves the mean towards the weights of net; keep 0 copies them."""
    with torch.no_grad():
        for old, new in zip(mean.parameters(), net.parameters()):
            if new.requires_grad:
                old.lerp_(new, 1 - keep)
