"""MesoNet's four: Meso-4 and MesoInception-4.

After Afchar et al., "MesoNet: a compact facial video forgery detection
network" (WIFS 2018). The weights are Keras files; Keras puts channels last.
"""

import re

import h5py
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from convert.errors import ConversionError

SIDE = 256  # pixels of a crop
EPSILON = 1e-3  # of batch norm, Keras's own
SLOPE = 0.1


def tail(before):
    """The last two convolutions, which both networks share, with their norms."""
    convolutions = [nn.Conv2d(before, 16, 5, padding=2), nn.Conv2d(16, 16, 5, padding=2)]
    return nn.ModuleList(convolutions), nn.ModuleList([nn.BatchNorm2d(16, EPSILON), nn.BatchNorm2d(16, EPSILON)])


class Head(nn.Module):
    """The last layers: N×16×8×8 to the log-odds of genuine, N."""

    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(1024, 16), nn.Linear(16, 1)

    def forward(self, x):
        """Flattens with channels last, as the weights were trained."""
        return self.out(F.leaky_relu(self.hidden(x.permute(0, 2, 3, 1).flatten(1)), SLOPE)).squeeze(1)


class Inception(nn.Module):
    """Four views of different reach, side by side."""

    def __init__(self, before, widths):
        super().__init__()
        first, *others = widths
        self.one = nn.Conv2d(before, first, 1)
        self.narrow = nn.ModuleList(nn.Conv2d(before, w, 1) for w in others)
        self.wide = nn.ModuleList(nn.Conv2d(w, w, 3, padding=reach, dilation=reach) for reach, w in enumerate(others, 1))

    def convolutions(self):
        """In the order in which Keras numbered them."""
        return [self.one, *(c for pair in zip(self.narrow, self.wide) for c in pair)]

    def forward(self, x):
        """N×before×H×W to N×sum(widths)×H×W."""
        views = [F.relu(wide(F.relu(narrow(x)))) for narrow, wide in zip(self.narrow, self.wide)]
        return torch.cat([F.relu(self.one(x)), *views], 1)


class Meso(nn.Module):
    """Crops, uint8 N×256×256×3 RGB, to the log-odds of fake, N."""

    def __init__(self, inception):
        super().__init__()
        if inception:
            self.early = nn.ModuleList([Inception(3, (1, 4, 4, 2)), Inception(11, (2, 4, 4, 2))])
        else:
            self.early = nn.ModuleList([nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 5, padding=2)])
        widths = (11, 12) if inception else (8, 8)
        self.early_norms = nn.ModuleList(nn.BatchNorm2d(w, EPSILON) for w in widths)
        self.late, self.late_norms = tail(widths[1])
        self.head = Head()

    def forward(self, pixels):
        """The published networks say genuine, so the sign is turned."""
        x = pixels.permute(0, 3, 1, 2).float() / 255
        layers = zip([*self.early, *self.late], [*self.early_norms, *self.late_norms], (2, 2, 2, 4))
        for layer, norm, size in layers:
            x = F.max_pool2d(norm(F.relu(layer(x))), size)
        return -self.head(x)

    def layers(self, kind):
        """The layers of a kind in the order in which Keras numbered them."""
        early = [c for part in self.early for c in (part.convolutions() if isinstance(part, Inception) else [part])]
        return {
            "conv2d": [*early, *self.late], "batch_normalization": [*self.early_norms, *self.late_norms],
            "dense": [self.head.hidden, self.head.out],
        }[kind]


def stored(path):
    """Kind of layer -> arrays by name, one entry a layer, in the order of their numbers."""
    found = {"conv2d": {}, "batch_normalization": {}, "dense": {}}

    def visit(name, node):
        layer = re.match(r"(conv2d|batch_normalization|dense)_(\d+)/", name)
        if layer and isinstance(node, h5py.Dataset):
            values = found[layer[1]].setdefault(int(layer[2]), {})
            values[name.rsplit("/", 1)[1].split(":")[0]] = np.asarray(node)

    try:
        with h5py.File(path) as file:
            file.visititems(visit)
    except OSError as error:
        raise ConversionError(f"{path} can't be read as Keras weights: {error}.") from error
    return {kind: [layers[number] for number in sorted(layers)] for kind, layers in found.items()}


PARAMETERS = {
    "kernel": "weight", "bias": "bias", "gamma": "weight", "beta": "bias",
    "moving_mean": "running_mean", "moving_variance": "running_var",
}


def fill(layer, arrays):
    """Copies the arrays of one Keras layer into ours: kernels are turned to output first."""
    for name, value in arrays.items():
        if name == "kernel":
            value = value.transpose(3, 2, 0, 1) if value.ndim == 4 else value.T
        target = getattr(layer, PARAMETERS[name])
        if target.shape != value.shape:
            raise ConversionError(f"The weights do not fit the network: {name} has shape {value.shape}, not {tuple(target.shape)}.")
        target.data.copy_(torch.from_numpy(np.ascontiguousarray(value)))


def load(source, name):
    """The network of source/NAME.h5."""
    network = Meso("Inception" in name)
    for kind, layers in stored(source / f"{name}.h5").items():
        if len(layers) != len(network.layers(kind)):
            raise ConversionError(f"{source / name}.h5 has {len(layers)} {kind} layers, not {len(network.layers(kind))}.")
        for layer, arrays in zip(network.layers(kind), layers):
            fill(layer, arrays)
    return network.eval()
