"""From a raw 4-second window to levelled sound, spectra and activity masks.

Everything here is a PyTorch module or function built from operators that have
an ONNX counterpart, so that the training features and the served model agree
by construction. Shapes: N windows, T frames, K values.
"""
import math
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[1]))  # last: `gather` stays this folder's

RATE = 16000
WINDOW = 64000
BINS = 256  # of 31.25 Hz, without bin 0


def hann(size):
    """Symmetric Hann window as float64 numpy array."""
    return np.hanning(size)


def keep(module, **values):
    """Put constants into a module as float32 buffers."""
    for name, value in values.items():
        module.register_buffer(name, torch.as_tensor(np.asarray(value), dtype=torch.float32))


def dft_matrix(window, size, first, last):
    """[len(window), 2*(last-first)] matrix: windowed cosines, then minus sines."""
    n = np.arange(len(window))[:, None]
    angle = 2 * np.pi * n * np.arange(first, last)[None] / size
    both = np.concatenate([np.cos(angle), -np.sin(angle)], axis=1)
    return torch.tensor(both * np.asarray(window)[:, None], dtype=torch.float32)


def dct_matrix(size, wanted):
    """[size, len(wanted)] orthonormal DCT-II columns."""
    n = np.arange(size)[:, None] + 0.5
    k = np.asarray(wanted)[None]
    m = np.cos(np.pi * n * k / size) * np.sqrt(2 / size)
    m = np.where(k == 0, m / np.sqrt(2), m)
    return torch.tensor(m, dtype=torch.float32)


def frames(x, size, hop):
    """[N, L] -> [N, T, size] overlapping frames, by slices of a common divisor."""
    step = math.gcd(size, hop)
    blocks = int(x.shape[1]) // step
    count = (blocks * step - size) // hop + 1
    b = x[:, :blocks * step].reshape(-1, blocks, step)
    every = hop // step
    last = (count - 1) * every + 1
    return torch.cat([b[:, i:i + last:every] for i in range(size // step)], dim=2)


def split_power(y):
    """[..., 2K] of real then imaginary parts -> re, im, power."""
    half = int(y.shape[-1]) // 2
    re, im = y[..., :half], y[..., half:]
    return re, im, re * re + im * im


def masked_mean(v, w):
    """[N, T, K], [N, T] -> [N, K] mean over the frames where w is 1."""
    return torch.matmul(w.unsqueeze(1), v)[:, 0] / (w.sum(1, keepdim=True) + 1e-6)


def masked_std(v, w):
    """Standard deviation over the frames where w is 1."""
    z = v - masked_mean(v, w).unsqueeze(1)
    return torch.sqrt(masked_mean(z * z, w) + 1e-10)


def masked_percentiles(v, w, shares):
    """Percentiles (0 to 1, linear interpolation) of [N, T, K] over frames of w."""
    v = v.transpose(1, 2)
    rows, least = int(v.shape[1]), int(max(shares) * (int(v.shape[2]) - 1)) + 2
    v = torch.where(w.unsqueeze(1) > 0.5, v, torch.full_like(v, 1e4))
    ordered = torch.topk(v, least, dim=2, largest=False, sorted=True)[0]
    top = (w.sum(1) - 1).reshape(-1, 1, 1)
    out = []
    for share in shares:
        at = (top * share).clamp(min=0).expand(-1, rows, 1)
        low = torch.floor(at)
        high = torch.minimum(low + 1, top.clamp(min=0).expand(-1, rows, 1))
        a = torch.gather(ordered, 2, low.long())[:, :, 0]
        b = torch.gather(ordered, 2, high.long())[:, :, 0]
        out.append(a + (b - a) * (at - low)[:, :, 0])
    return out


def loudest(v, k):
    """[N, T] -> [N, 1]: the k-th largest value."""
    return torch.topk(v, k, dim=1)[0][:, k - 1:k]


class Level(nn.Module):
    """High-pass at about 60 Hz, then scale so that active frames have RMS 0.05;
    also `audible`, [N]: 1, falling to 0 where that RMS is below 1.2e-4 (-78 dBFS),
    as silence and rounding noise are nothing to judge.

    The low band is a 17-tap Hann average of 1 ms block means, interpolated
    linearly. Active frames (20 ms) lie within 35 dB of the 95th percentile.
    """

    def __init__(self):
        super().__init__()
        kernel = hann(19)[1:-1]
        self.register_buffer("kernel", torch.tensor(
            (kernel / kernel.sum())[None, None], dtype=torch.float32))
        at = (np.arange(16) - 7.5) / 16
        weights = np.stack([np.clip(-at, 0, None), 1 - np.abs(at), np.clip(at, 0, None)])
        self.register_buffer("between", torch.tensor(weights, dtype=torch.float32))

    def forward(self, x):
        x = torch.where(x.abs() < 1e6, x, torch.zeros_like(x))  # also not-a-number
        x = x - x.mean(1, keepdim=True)
        blocks = x.reshape(-1, WINDOW // 16, 16)
        low = blocks.mean(2).unsqueeze(1)
        low = nn.functional.conv1d(low, self.kernel, padding=8)[:, 0]
        first, last = low[:, :1], low[:, -1:]
        near = torch.stack([torch.cat([first, low[:, :-1]], 1), low,
                            torch.cat([low[:, 1:], last], 1)], dim=2)
        x = (blocks - torch.matmul(near, self.between)).reshape(-1, WINDOW)
        energy = (x * x).reshape(-1, 200, 320).mean(2) + 1e-10
        active = (energy > loudest(energy, 10) * 10 ** -3.5).float()
        rms = torch.sqrt((energy * active).sum(1, keepdim=True) / active.sum(1, keepdim=True).clamp(min=1))
        return x * (0.05 / (rms + 1e-5)), ((rms[:, 0] - 2e-5) / 1e-4).clamp(0, 1)


def keep_some(mask):
    """All frames instead of a mask with fewer than 20."""
    return torch.where(mask.sum(1, keepdim=True) < 20, torch.ones_like(mask), mask)


class Activity(nn.Module):
    """Masks from frame energies: `active` (within 25 dB of the 95th percentile)
    and `span` (from 50 ms before the first to 50 ms after the last frame within
    35 dB), which is silence trimming without cutting anything."""

    def forward(self, energy):
        peak = loudest(energy, 20)
        active = keep_some((energy > peak * 10 ** -2.5).float())
        loud = (energy > peak * 10 ** -3.5).float()
        seen = torch.cumsum(loud, dim=1)
        left = seen[:, -1:] - seen + loud
        span = ((seen > 0.5) & (left > 0.5)).float().unsqueeze(1)
        span = nn.functional.max_pool1d(span, 11, stride=1, padding=5)[:, 0]
        return active, keep_some(span)


class Spectrum(nn.Module):
    """[N, 64000] -> power [N, 398, 256], Hann, 25 ms / 10 ms. Each frame is folded at
    its middle into an even and an odd half: half the products."""

    def __init__(self):
        super().__init__()
        angle = 2 * np.pi * (np.arange(200)[:, None] - 199.5) * np.arange(1, BINS + 1)[None] / 512
        keep(self, even=np.cos(angle) * hann(400)[:200, None], odd=np.sin(angle) * hann(400)[:200, None])

    def forward(self, x):
        f = frames(x, 400, 160)
        left, right = f[:, :, :200], f[:, :, 200:].flip(2)
        even, odd = torch.matmul(left + right, self.even), torch.matmul(left - right, self.odd)
        return even * even + odd * odd
