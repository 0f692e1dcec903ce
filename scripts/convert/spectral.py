"""What AASIST and RawGAT-ST have in common: from samples to maps, and graphs.

After Jung et al., "AASIST: Audio anti-spoofing using integrated
spectro-temporal graph attention networks" (ICASSP 2022), and Tak et al.,
"End-to-end spectro-temporal graph attention networks for speaker verification
anti-spoofing and speech deepfake detection" (ASVspoof workshop 2021). Dropout
is left out: nothing is trained here.
"""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

RATE = 16_000  # Hz
LENGTH = 64_600  # samples that the networks were trained on
FILTERS = 70
TAPS = 129
BANDS, FRAMES = 23, 29  # of the encoder's map


def band_passes():
    """FILTERS×1×TAPS: Hamming-windowed sinc filters between points equally far apart in mel.

    The arguments of the sines are rounded to single precision, as the published
    code does it: at 64 half waves that moves the logits by up to 0.0003.
    """
    top = 2595 * np.log10(1 + RATE / 2 / 700)
    edges = 2 * 700 * (10 ** (np.linspace(0, top, FILTERS + 1) / 2595) - 1)
    arguments = np.float32(edges)[:, None] * np.arange(-(TAPS // 2), TAPS // 2 + 1, dtype=np.float32) / np.float32(RATE)
    low_passes = edges[:, None] / RATE * np.sinc(arguments)
    return torch.from_numpy(np.diff(low_passes, axis=0) * np.hamming(TAPS)).float()[:, None]


class Front(nn.Module):
    """Samples, N×any number, to a map N×1×23×21,490. Short rows are repeated, long ones cut."""

    def __init__(self, samples):
        super().__init__()
        self.samples = samples
        self.register_buffer("filters", band_passes(), persistent=False)
        self.first_bn = nn.BatchNorm2d(1)

    def forward(self, samples):
        """samples in [-1, 1] at RATE."""
        repeated = torch.cat([samples] * -(-LENGTH // self.samples), 1)[:, :LENGTH]
        bands = F.conv1d(repeated[:, None], self.filters).abs()
        return F.selu(self.first_bn(F.max_pool2d(bands[:, None], 3)))


class Residual(nn.Module):
    """Two convolutions beside one or none, then a third of the width.

    The published networks normalise and activate the block's input first, and
    then convolve the input itself all the same. Their weights were trained so;
    the result that nobody uses is not computed here.
    """

    def __init__(self, before, after, project):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, (2, 3), padding=(1, 1))
        self.bn2 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, (2, 3), padding=(0, 1))
        self.conv_downsample = nn.Conv2d(before, after, (1, 3), padding=(0, 1)) if project else nn.Identity()

    def forward(self, x):
        """N×before×H×W to N×after×H×W/3."""
        main = self.conv2(F.selu(self.bn2(self.conv1(x))))
        return F.max_pool2d(main + self.conv_downsample(x), (1, 3))


def encoder(widths, project_first):
    """Six residual blocks; widths are the channels before each block and after the last.

    A block that widens projects what goes past it; the first one may instead add
    its only channel to all.
    """
    pairs = enumerate(zip(widths, widths[1:]))
    return nn.Sequential(*[nn.Sequential(Residual(a, b, a != b and (k > 0 or project_first))) for k, (a, b) in pairs])


def products(x):
    """N×V×D nodes to N×V×V×D products of all pairs."""
    return x[:, :, None] * x[:, None]


def normalised(norm, x):
    """Batch norm and SELU over the last dimension of N×V×D."""
    return F.selu(norm(x.transpose(1, 2)).transpose(1, 2))


class Attention(nn.Module):
    """Graph attention: each node gathers all nodes by their likeness to it."""

    def __init__(self, before, after, temperature=1.0):
        super().__init__()
        self.temperature = temperature
        self.att_proj = nn.Linear(before, after)
        self.att_weight = nn.Parameter(torch.zeros(after, 1))
        self.proj_with_att = nn.Linear(before, after)
        self.proj_without_att = nn.Linear(before, after)
        self.bn = nn.BatchNorm1d(after)

    def forward(self, x):
        """N×V×before to N×V×after."""
        likeness = (torch.tanh(self.att_proj(products(x))) @ self.att_weight).squeeze(-1)
        shares = F.softmax(likeness / self.temperature, 2)
        return normalised(self.bn, self.proj_with_att(shares @ x) + self.proj_without_att(x))


class Pool(nn.Module):
    """Keeps the nodes of the highest scores, times their scores, best first."""

    def __init__(self, width, kept):
        super().__init__()
        self.kept = kept
        self.proj = nn.Linear(width, 1)

    def forward(self, x):
        """N×V×D to N×kept×D."""
        scores = torch.sigmoid(self.proj(x))
        best = scores.topk(self.kept, 1).indices
        return (x * scores).gather(1, best.expand(-1, -1, x.shape[2]))
