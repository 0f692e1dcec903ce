"""The network: YuNet's stages, the costliest of them at half the side, without its finest stride and its landmarks."""

import torch
import torch.nn as nn
import torch.nn.functional as F

STRIDES = (16, 32)
ROWS = 64
GREY, STEP = 128, 8  # what is left over of the input; every how many-th line tells so
CUT = 128  # pixels, the steps in which that is left out
BELOW = 30.0  # by which a cell's logit is lowered that a neighbour exceeds
FARTHEST = 4.0  # of an extent, in powers of e times the stride
FIRST, WIDTH = 16, 64  # channels of the beginning, and of everything from stride 8 on


class Pair(nn.Module):
    """YuNet's unit: pointwise, then depthwise."""

    def __init__(self, inputs, outputs, active=True):
        super().__init__()
        self.pointwise = nn.Conv2d(inputs, outputs, 1)
        self.depthwise = nn.Conv2d(outputs, outputs, 3, 1, 1, groups=outputs)
        self.active = active

    def forward(self, values):
        """The features of the next layer."""
        result = self.depthwise(self.pointwise(values))
        return F.relu(result) if self.active else result


class Begin(nn.Module):
    """Pixels to features at stride 4."""

    def __init__(self):
        super().__init__()
        # 3×3 pixels by steps of 2, the colours of a row beside each other as they come: nothing is to be rearranged.
        self.pixels = nn.Conv2d(1, FIRST, (3, 9), (2, 6), (1, 3))
        self.units = nn.ModuleList([Pair(FIRST, FIRST), Pair(FIRST, FIRST), Pair(FIRST, WIDTH)])

    def forward(self, pixels):
        """N×H×W×3 of bytes to N×WIDTH×H/4×W/4."""
        rows = pixels.float().flatten(2).unsqueeze(1)
        first = self.units[0](F.relu(self.pixels(rows)))
        return self.units[2](self.units[1](F.max_pool2d(first, 2)))


class Network(nn.Module):
    """N×H×W×3 of bytes, RGB, to logit, centre and extent of each cell."""

    def __init__(self):
        super().__init__()
        self.begin = Begin()
        # YuNet has the first of these stages before the pooling to stride 8, where it is more than a third of all work.
        self.pooled, self.fine, self.middle, self.coarse = (
            nn.Sequential(Pair(WIDTH, WIDTH), Pair(WIDTH, WIDTH)) for _ in range(4)
        )
        self.lateral, self.last = (nn.ModuleList([Pair(WIDTH, WIDTH) for _ in STRIDES]) for _ in range(2))
        # Class, objectness, centre, extent.
        self.heads = nn.ModuleList([Pair(WIDTH, 6, active=False) for _ in STRIDES])

    def features(self, pixels):
        """Features at stride 8, N×WIDTH×H/8×W/8."""
        return self.pooled(F.max_pool2d(self.begin(pixels), 2))

    def forward(self, pixels):
        """One tensor a stride, N×5×H×W."""
        middle = self.middle(F.max_pool2d(self.fine(self.features(pixels)), 2))
        coarse = self.lateral[1](self.coarse(F.max_pool2d(middle, 2)))
        middle = self.lateral[0](middle + F.interpolate(coarse, scale_factor=2.0, mode="nearest"))
        found = [head(last(values)) for head, last, values in zip(self.heads, self.last, (middle, coarse))]
        return [torch.cat([(v[:, :1] + v[:, 1:2]) / 2, v[:, 2:]], 1) for v in found]


def peaks(outputs):
    """The same, with only the surest of nine neighbours left: one face's many cells would crowd out other faces."""
    found = []
    for values in outputs:
        logit = values[:, :1]
        lower = (logit < F.max_pool2d(logit, 3, 1, 1)).float() * BELOW
        found.append(torch.cat([logit - lower, values[:, 1:]], 1))
    return found


def boxes(outputs):
    """Logit and corners of every cell, N×cells×5."""
    found = []
    for stride, values in zip(STRIDES, outputs):
        logit, across, down = values[:, 0], values[:, 1], values[:, 2]
        # Offsets by axis rather than by cell: as constants of the graph those would take 17 kB.
        x = (across + torch.arange(values.shape[3])) * stride
        y = (down + torch.arange(values.shape[2])[:, None]) * stride
        half = torch.exp(torch.clamp(values[:, 3:], max=FARTHEST)) * (stride / 2)
        width, height = half[:, 0], half[:, 1]
        found.append(torch.stack([logit, x - width, y - height, x + width, y + height], -1).flatten(1, 2))
    return torch.cat(found, 1)


def filled(pixels):
    """The upper left part of N×H×W×3 that holds all there is but grey.

    Looks at every STEP-th line, which is enough for edges of pictures, as every cut begins with one: only where that
    one is plain grey, and fewer than STEP lines follow, are these lost. At the edge of that part there is nothing where
    there was grey, which moves logits by up to 0.5: the service batches pictures of one extent only.
    """
    lines = (pixels.flatten(2)[:, ::STEP].float() - GREY).abs()
    down, across = lines.amax((0, 2)), lines.amax((0, 1)).reshape(-1, 3).amax(1)
    height, width = whole(down, STEP), whole(across, 1)
    return pixels[:, :height, :width]


def whole(used, step):
    """The pixels up to the last number above 0, of numbers step pixels apart, in whole cuts; a cut holds more than ROWS cells."""
    last = ((used > 0).float() * (torch.arange(used.shape[0]) * step + 1.0)).amax()
    return ((last / CUT).ceil() * CUT).clamp(min=CUT).long()


class Served(nn.Module):
    """The detector as the service calls it: uint8 N×640×640×3 RGB to float32 N×64×5, the best first."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, pixels):
        """The rows of highest logit."""
        rows = boxes(peaks(self.network(filled(pixels))))
        order = torch.topk(rows[..., 0], ROWS, 1).indices
        return torch.gather(rows, 1, order.unsqueeze(-1).expand(-1, -1, 5))
