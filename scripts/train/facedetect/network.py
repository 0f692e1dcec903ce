"""The network: 48 numbers of each 4×4 block, then separable convolutions down to strides 16, 32 and 64."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

STRIDES = (16, 32, 64)
ROWS = 64
FARTHEST = 4.0  # of an extent, in powers of e times the stride


def unit(inputs, outputs, side, groups=1, stride=1, active=True):
    """Convolution, batch norm and, if active, ReLU."""
    layers = [nn.Conv2d(inputs, outputs, side, stride, side // 2, groups=groups, bias=False)]
    layers.append(nn.BatchNorm2d(outputs))
    return nn.Sequential(*layers, *([nn.ReLU()] if active else []))


class Block(nn.Module):
    """Depthwise, then pointwise; added to its input where the shapes agree."""

    def __init__(self, inputs, outputs, side=3, stride=1):
        super().__init__()
        self.depthwise = unit(inputs, inputs, side, inputs, stride)
        self.pointwise = unit(inputs, outputs, 1, active=False)
        self.added = stride == 1 and inputs == outputs

    def forward(self, values):
        """The features of the next layer."""
        result = self.pointwise(self.depthwise(values))
        return F.relu(result + values if self.added else result)


class Network(nn.Module):
    """Blocks of 4×4 RGB pixels, N×H×W×48, 0 to 255, to N×cells×5: logit, centre, extent."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(48, 24)
        self.fine = nn.Sequential(Block(24, 48, 3, 2), Block(48, 48), Block(48, 48))
        self.middle = nn.Sequential(Block(48, 64, 3, 2), Block(64, 64), Block(64, 64), Block(64, 64))
        self.coarse = nn.Sequential(Block(64, 64, 3, 2), Block(64, 64, 5), Block(64, 64, 5))
        self.widest = nn.Sequential(Block(64, 64, 3, 2), Block(64, 64, 5))
        self.down = unit(64, 64, 1, active=False)
        self.last = Block(64, 64)
        self.heads = nn.ModuleList([nn.Conv2d(64, 5, 1) for _ in STRIDES])
        for last in self.heads:
            nn.init.normal_(last.weight, std=0.01)
            nn.init.zeros_(last.bias)
            nn.init.constant_(last.bias[:1], -math.log(99))
            nn.init.constant_(last.bias[3:], math.log(3))

    def forward(self, blocks):
        """One tensor a stride, N×5×H×W."""
        # The scaling to [-1, 1] is folded into the weights: it would cost as much as the layer.
        weight = self.stem.weight / 127.5
        bias = self.stem.bias - self.stem.weight.sum(1)
        first = F.relu(F.linear(blocks, weight, bias)).permute(0, 3, 1, 2)
        middle = self.middle(self.fine(first))
        coarse = self.coarse(middle)
        widest = self.widest(coarse)
        coarse = F.relu(coarse + F.interpolate(self.down(widest), scale_factor=2.0, mode="nearest"))
        middle = F.relu(middle + F.interpolate(self.down(coarse), scale_factor=2.0, mode="nearest"))
        return [head(self.last(values)) for head, values in zip(self.heads, (middle, coarse, widest))]


def patches(pixels):
    """N×H×W×3 of bytes to N×H/4×W/4×48, 0 to 255."""
    height, width = pixels.shape[1] // 4, pixels.shape[2] // 4
    blocks = pixels.reshape(-1, height, 4, width, 12).transpose(2, 3).reshape(-1, height, width, 48)
    return blocks.float()


def cells(stride, height, width):
    """The centre of each cell in pixels, cells×2."""
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return (torch.stack([x, y], -1).reshape(-1, 2).float() + 0.5) * stride


def boxes(outputs):
    """Logit and corners of every cell, N×cells×5."""
    found = []
    for stride, values in zip(STRIDES, outputs):
        logit, across, down = values[:, 0], values[:, 1], values[:, 2]
        # Offsets by axis rather than by cell: as constants of the graph those would take 17 kB.
        x = (across + (torch.arange(values.shape[3]) + 0.5)) * stride
        y = (down + (torch.arange(values.shape[2]) + 0.5)[:, None]) * stride
        half = torch.exp(torch.clamp(values[:, 3:], max=FARTHEST)) * (stride / 2)
        width, height = half[:, 0], half[:, 1]
        found.append(torch.stack([logit, x - width, y - height, x + width, y + height], -1).flatten(1, 2))
    return torch.cat(found, 1)


class Served(nn.Module):
    """The detector as the service calls it: uint8 N×640×640×3 RGB to float32 N×64×5, the best first."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, pixels):
        """The rows of highest logit."""
        rows = boxes(self.network(patches(pixels)))
        order = torch.topk(rows[..., 0], ROWS, 1).indices
        return torch.gather(rows, 1, order.unsqueeze(-1).expand(-1, -1, 5))
