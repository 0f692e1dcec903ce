"""AASIST and AASIST-L: one graph of bands and frames, judged twice."""

import json

import torch
import torch.nn as nn
import torch.nn.functional as F

from convert import weights
from convert.errors import ConversionError
from convert.spectral import BANDS, FRAMES, Attention, Front, Pool, encoder, normalised, products

RENAMES = (
    ("first_bn.", "front.first_bn."),
    ("HtrgGAT_layer_ST11", "branches.0.mixed"), ("HtrgGAT_layer_ST12", "branches.0.refined"),
    ("HtrgGAT_layer_ST21", "branches.1.mixed"), ("HtrgGAT_layer_ST22", "branches.1.refined"),
    ("master1", "branches.0.master"), ("master2", "branches.1.master"),
    ("pool_hS1", "branches.0.pool_bands"), ("pool_hT1", "branches.0.pool_frames"),
    ("pool_hS2", "branches.1.pool_bands"), ("pool_hT2", "branches.1.pool_frames"),
    ("GAT_layer_S", "bands"), ("GAT_layer_T", "frames"), ("pool_S", "pool_bands"), ("pool_T", "pool_frames"),
)


class Mixed(nn.Module):
    """Attention over nodes of two kinds and one master node, which only listens."""

    def __init__(self, before, after, temperature, first, second):
        super().__init__()
        self.first, self.second, self.temperature = first, second, temperature
        self.proj_type1, self.proj_type2 = nn.Linear(before, before), nn.Linear(before, before)
        self.att_proj, self.att_projM = nn.Linear(before, after), nn.Linear(before, after)
        for kind in ("11", "22", "12", "M"):
            self.register_parameter("att_weight" + kind, nn.Parameter(torch.zeros(after, 1)))
        self.proj_with_att, self.proj_without_att = nn.Linear(before, after), nn.Linear(before, after)
        self.proj_with_attM, self.proj_without_attM = nn.Linear(before, after), nn.Linear(before, after)
        self.bn = nn.BatchNorm1d(after)
        kind = torch.tensor([0] * first + [1] * second)
        # Which of the three weights judges a pair: both of the first kind, both of the second, one of each.
        self.register_buffer("pairs", F.one_hot(kind[:, None] + kind, 3).float(), persistent=False)

    def forward(self, first, second, master):
        """Nodes of both kinds, N×V×before, and the master, N or 1×1×before; all of width after."""
        x = torch.cat([self.proj_type1(first), self.proj_type2(second)], 1)
        judges = torch.cat([self.att_weight11, self.att_weight12, self.att_weight22], 1)
        likeness = (torch.tanh(self.att_proj(products(x))) @ judges * self.pairs).sum(-1)
        gathered = F.softmax(likeness / self.temperature, 2) @ x
        heard = torch.tanh(self.att_projM(x * master)) @ self.att_weightM
        told = F.softmax(heard / self.temperature, 1).transpose(1, 2) @ x
        master = self.proj_with_attM(told) + self.proj_without_attM(master)
        x = normalised(self.bn, self.proj_with_att(gathered) + self.proj_without_att(x))
        return *x.split([self.first, self.second], 1), master


class Branch(nn.Module):
    """One of the two judgements: mix, keep some nodes, mix again and add."""

    def __init__(self, before, after, temperature, ratio, frames, bands):
        super().__init__()
        few_frames, few_bands = max(int(frames * ratio), 1), max(int(bands * ratio), 1)
        self.master = nn.Parameter(torch.zeros(1, 1, before))
        self.mixed = Mixed(before, after, temperature, frames, bands)
        self.refined = Mixed(after, after, temperature, few_frames, few_bands)
        self.pool_frames, self.pool_bands = Pool(after, few_frames), Pool(after, few_bands)

    def forward(self, frames, bands):
        """-> frames, bands, master."""
        frames, bands, master = self.mixed(frames, bands, self.master)
        kept = self.pool_frames(frames), self.pool_bands(bands), master
        return [a + b for a, b in zip(kept, self.refined(*kept))]


class AASIST(nn.Module):
    """Samples, N×samples, to the log-odds of fake, N."""

    def __init__(self, shape, samples):
        super().__init__()
        first, *blocks = shape["filts"]
        wide, narrow = shape["gat_dims"]
        ratios, heat = shape["pool_ratios"], shape["temperatures"]
        widths = [1] + [pair[1] for pair in blocks] + [blocks[-1][1]] * 2
        bands, frames = int(BANDS * ratios[0]), int(FRAMES * ratios[1])
        self.front = Front(samples)
        self.encoder = encoder(widths, project_first=True)
        self.pos_S = nn.Parameter(torch.zeros(1, BANDS, widths[-1]))
        self.bands, self.frames = (Attention(widths[-1], wide, t) for t in heat[:2])
        self.pool_bands, self.pool_frames = Pool(wide, bands), Pool(wide, frames)
        # The second branch has a ratio and a temperature of its own in the settings, which the published code never uses.
        self.branches = nn.ModuleList(Branch(wide, narrow, heat[2], ratios[2], frames, bands) for _ in range(2))
        self.out_layer = nn.Linear(5 * narrow, 2)

    def forward(self, samples):
        """samples at 16 kHz in [-1, 1]."""
        strength = self.encoder(self.front(samples)).abs()
        bands = self.pool_bands(self.bands(strength.amax(3).transpose(1, 2) + self.pos_S))
        frames = self.pool_frames(self.frames(strength.amax(2).transpose(1, 2)))
        frames, bands, master = (torch.maximum(*pair) for pair in zip(*[b(frames, bands) for b in self.branches]))
        summary = [frames.abs().amax(1), frames.mean(1), bands.abs().amax(1), bands.mean(1), master.squeeze(1)]
        fake, genuine = self.out_layer(torch.cat(summary, 1)).unbind(1)
        return fake - genuine


def load(source, name, samples):
    """The network of source/NAME.pth, built as source/NAME.conf says, for rows of so many samples."""
    try:
        shape = json.loads((source / f"{name}.conf").read_text())["model_config"]
        network = AASIST(shape, samples)
    except (OSError, ValueError, KeyError) as error:
        raise ConversionError(f"{source / name}.conf can't be read as the settings of AASIST: {error}.") from error
    return weights.fill(network, weights.state(source / f"{name}.pth"), RENAMES, unused=(".bn1.",))
