"""The detector network and its training."""

import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from vision.backbone import build


BLOCK = 32  # pixels, side of the blocks that shuffled() moves


class Detector(nn.Module):
    """Backbone, mean and deviation of feature maps, one linear layer: the log-odds of fake.

    The last feature map says what is shown; the outputs of the layers taps,
    where given, say more about texture. depth is how many layers are kept,
    all unless given. Log-odds below floor, where given, are raised to it once
    training is over: finding nothing is then no evidence.
    """

    def __init__(self, weights, size, taps=(), depth=None, floor=None):
        super().__init__()
        self.backbone, self.taps, self.floor = build(weights, size), taps, floor
        self.backbone.cut(depth or len(self.backbone.layers))
        width = sum(channels(self.backbone, k) for k in (len(self.backbone.layers) - 1, *taps))
        self.head = nn.Linear(2 * width, 1)

    def pooled(self, x):
        """Mean and deviation of each channel of the last feature map, then of the taps."""
        outputs = self.backbone.outputs(x)
        return torch.cat([statistics(outputs[-1]), *(statistics(outputs[k + 1]) for k in self.taps)], 1)

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


def fine_tune(detector, draw, options, seed):
    """Trains a copy on options["steps"] batches; draw(random) gives one (uint8 picture, label).

    With options["average"] the result is the running mean of the weights, which ranks
    unseen sources more steadily than the weights of any one step. options["shuffle"]
    is the share of the batches whose pictures are cut to blocks and put together anew.
    """
    torch.manual_seed(seed)
    random = np.random.RandomState(seed)
    net = copy.deepcopy(detector).to(memory_format=torch.channels_last).train()
    tuned = freeze(net, options["frozen"])
    optimiser = torch.optim.AdamW(
        [{"params": tuned}, {"params": net.head.parameters()}], lr=0.0, weight_decay=options["decay"]
    )
    mean, running = copy.deepcopy(net), 0.0
    for step in range(options["steps"]):
        warm = min(1, (step + 1) / 30) * 0.5 * (1 + np.cos(np.pi * step / options["steps"]))
        for group, rate in zip(optimiser.param_groups, options["rates"]):
            group["lr"] = rate * warm
        rows, labels = zip(*(draw(random) for _ in range(options["batch"])))
        rows = np.stack(rows)
        if random.rand() < options.get("shuffle", 0.0):
            rows = shuffled(rows, random)
        loss = learn(net, optimiser, rows, labels, options["dropout"])
        follow(mean, net, min(options.get("average", 0.0), step / (step + 10)))
        running += (loss - running) / min(step + 1, 50)
        if (step + 1) % 50 == 0:
            print(f"  step {step + 1}: loss {running:.3f}", flush=True)
    return mean.eval().requires_grad_(False)


def shuffled(rows, random):
    """The rows with their blocks in a new order, the same for all: what is shown is gone, the texture stays."""
    count, height, width, channels = rows.shape
    down, right = height // BLOCK, width // BLOCK
    order = random.permutation(down * right)
    parts = rows.reshape(count, down, BLOCK, right, BLOCK, channels).swapaxes(2, 3).reshape(count, -1, BLOCK, BLOCK, channels)
    parts = parts[:, order].reshape(count, down, right, BLOCK, BLOCK, channels)
    return parts.swapaxes(2, 3).reshape(rows.shape)


def learn(net, optimiser, rows, labels, dropout):
    """One step on a batch; returns its loss."""
    truth = torch.tensor(labels).float() * 0.9 + 0.05
    loss = F.binary_cross_entropy_with_logits(net(tensor(rows), dropout), truth)
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_([p for g in optimiser.param_groups for p in g["params"]], 1.0)
    optimiser.step()
    return loss.item()


def follow(mean, net, keep):
    """Moves the mean towards the weights of net; keep 0 copies them."""
    with torch.no_grad():
        for old, new in zip(mean.parameters(), net.parameters()):
            if new.requires_grad:
                old.lerp_(new, 1 - keep)
