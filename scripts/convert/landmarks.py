"""The 68 landmarks of a face: the network of face-api.js, whose weights are published in 8 bits for TensorFlow.js.

Four blocks halve the picture four times; in each, every convolution is given
the sum of those before it. What is left is averaged, and one linear layer gives
the landmarks in the order of iBUG 300-W: jaw, brows, nose, eyes, mouth.
"""

import json
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from convert import weights
from convert.errors import ConversionError

SIDE = 112  # pixels of a crop
COUNT = 68
# Side of a crop over the longer side of the face. On 206 faces of the archives the eyes, nose and mouth are apart from YuNet's,
# in distances of the eyes and by median and mean: 1.0 .075 .153, 1.1 .073 .146, 1.2 .071 .141, 1.3 .074 .141, 1.4 .088 .152,
# 1.5 .106 .176, 1.6 .143 .222. Faces in profile make the mean.
MARGIN = 1.2
MEAN = (122.782, 117.001, 104.298)  # of red, green and blue, 0 to 255
WIDTHS = (3, 32, 64, 128, 256)
FILES = SHARD, MANIFEST = "face_landmark_68_model-shard1", "weights_manifest.json"


def padding(stride):
    """What TensorFlow pads even sides by for 3×3 filters, left, right, above and below: at half the pixels only the end."""
    return (0, 1, 0, 1) if stride == 2 else (1, 1, 1, 1)


class Separable(nn.Module):
    """A 3×3 convolution of each channel by itself, then one of 1×1 across them."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.padding = padding(stride)
        self.depthwise = nn.Conv2d(before, before, 3, stride, groups=before, bias=False)
        self.pointwise = nn.Conv2d(before, after, 1)

    def forward(self, x):
        """N×before×H×W to N×after×H/stride×W/stride."""
        return self.pointwise(self.depthwise(F.pad(x, self.padding)))


class Plain(nn.Module):
    """The very first convolution, a 3×3 one at every second pixel."""

    def __init__(self, before, after):
        super().__init__()
        self.filters = nn.Conv2d(before, after, 3, 2)

    def forward(self, x):
        """N×before×H×W to N×after×H/2×W/2."""
        return self.filters(F.pad(x, padding(2)))


class Block(nn.Module):
    """Four convolutions, the first at every second pixel."""

    def __init__(self, before, after):
        super().__init__()
        first = Plain(before, after) if before == WIDTHS[0] else Separable(before, after, 2)
        self.layers = nn.ModuleList([first, *(Separable(after, after, 1) for _ in range(3))])

    def forward(self, x):
        """Sums begin with what the first gives once it is rectified."""
        total = F.relu(self.layers[0](x))
        for layer in self.layers[1:]:
            total = total + layer(F.relu(total))
        return F.relu(total)


class Landmarks(nn.Module):
    """Crops, uint8 N×112×112×3 RGB, to the landmarks as x and y in sides of the crop, N×68×2.

    The last layer is one of double precision: what reads how landmarks change
    from frame to frame would read its rounding, too.
    """

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(before, after) for before, after in zip(WIDTHS, WIDTHS[1:]))
        self.out = nn.Linear(WIDTHS[-1], 2 * COUNT, dtype=torch.float64)
        self.register_buffer("mean", torch.tensor(MEAN).view(3, 1, 1), persistent=False)

    def forward(self, pixels):
        """The published network scales to 112 pixels itself; crops come at that size."""
        x = (pixels.permute(0, 3, 1, 2).float() - self.mean) / 255
        for block in self.blocks:
            x = block(x)
        return self.out(x.double().mean((2, 3))).float().unflatten(1, (COUNT, 2))


def dequantised(entry, codes):
    """The numbers of one tensor: codes of 8 bits times the step of its scale, from its lowest value on."""
    scale = entry.get("quantization", {})
    if entry["dtype"] != "float32" or scale.get("dtype") != "uint8":
        raise ConversionError(f"{entry['name']} is not kept in 8 bits, which is all that is read here.")
    return (codes.astype(np.float32) * np.float32(scale["scale"]) + np.float32(scale["min"])).reshape(entry["shape"])


def stored(source):
    """Name -> array of what the shard holds: one tensor after the other, as the manifest lists them."""
    try:
        entries = [entry for group in json.loads((source / MANIFEST).read_text()) for entry in group["weights"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ConversionError(f"{source / MANIFEST} can't be read as the manifest of TensorFlow.js: {error!r}.") from error
    codes, at, found = np.frombuffer((source / SHARD).read_bytes(), np.uint8), 0, {}
    for entry in entries:
        count = math.prod(entry["shape"])
        if at + count > len(codes):
            raise ConversionError(f"{source / SHARD} ends within {entry['name']}.")
        found[entry["name"]] = dequantised(entry, codes[at : at + count])
        at += count
    if at < len(codes):
        raise ConversionError(f"{source / SHARD} goes on after its last tensor.")
    return found


def turned(name, value):
    """An array of TensorFlow as PyTorch keeps it: outputs first; of a depthwise filter the channels are."""
    if name.endswith("depthwise_filter"):
        return value.transpose(2, 3, 0, 1)
    return value.transpose(3, 2, 0, 1) if value.ndim == 4 else value.T


def renamed(name):
    """The name in our network, "dense0/conv1/bias" being "blocks.0.layers.1.pointwise.bias"."""
    parts = name.replace("fc/weights", "out.weight").replace("fc/bias", "out.bias").split("/")
    if len(parts) < 3:
        return parts[0]
    block, layer, kind = parts[0].removeprefix("dense"), parts[1].removeprefix("conv"), parts[2]
    bias = "filters.bias" if (block, layer) == ("0", "0") else "pointwise.bias"
    own = {"filters": "filters.weight", "depthwise_filter": "depthwise.weight", "pointwise_filter": "pointwise.weight"}.get(kind, bias)
    return f"blocks.{block}.layers.{layer}.{own}"


def load(source):
    """The network of the shard and the manifest in source."""
    tensors = {renamed(name): torch.from_numpy(np.ascontiguousarray(turned(name, value))) for name, value in stored(source).items()}
    return weights.fill(Landmarks(), tensors)
