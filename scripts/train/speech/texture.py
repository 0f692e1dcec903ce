"""Second family of statistics: 6 ms dynamics and tonal fine structure."""
import numpy as np
import torch
from torch import nn

from frontend import dft_matrix, frames, hann, keep, masked_mean, masked_std, split_power

# Variance of log power below which there is only rounding: of a band at the floor, higher moments would
# be those of the processor's own noise.
ROUNDING = 1e-4
LAGS = [q + d for q in (16, 18, 20, 22, 24, 32, 40, 44, 48, 64) for d in (-1, 0, 1)]


def moments(v, dim):
    """Deviation, skewness and kurtosis along one dimension, bounded."""
    z = v - v.mean(dim, keepdim=True)
    z2 = z * z
    s = torch.sqrt(z2.mean(dim) + ROUNDING)
    return s, ((z2 * z).mean(dim) / s ** 3).clamp(-6, 6), ((z2 * z2).mean(dim) / s ** 4).clamp(0, 20)


def merged(a, b):
    """[N, M, K] twice, ascending in M, a power of two -> [N, 2M, K] ascending (bitonic merging; Batcher, *Sorting
    networks and their applications*, 1968)."""
    size, width, b = int(a.shape[1]), int(a.shape[2]), b.flip(1)
    out = torch.cat([torch.minimum(a, b), torch.maximum(a, b)], 1)
    half = size // 2
    while half:
        pairs = out.reshape(-1, size // half, 2, half, width)
        low, high = pairs[:, :, :1], pairs[:, :, 1:]
        out = torch.cat([torch.minimum(low, high), torch.maximum(low, high)], 2)
        half //= 2
    return out.reshape(-1, 2 * size, width)


class Dynamics(nn.Module):
    """Steps of the log spectrum in 6 ms windows every 2 ms, and its modulation."""

    def __init__(self):
        super().__init__()
        self.register_buffer("dft", dft_matrix(hann(96), 128, 0, 64))
        self.register_buffer("slow", dft_matrix(hann(64), 64, 1, 33))

    def forward(self, x, span):
        power = split_power(torch.matmul(frames(x, 96, 32), self.dft))[2]
        fine = torch.log(power.reshape(-1, 1998, 16, 4).mean(3) + 1e-5)[:, :1990]
        w = span.unsqueeze(2).expand(-1, -1, 5).reshape(-1, 1990)
        d = fine[:, 1:] - fine[:, :-1]
        return torch.cat([*self.masked_moments(d, w[:, 1:]), masked_std(d[:, 1:] - d[:, :-1], w[:, 2:]),
                          self.modulation(fine, w)], 1)

    @staticmethod
    def masked_moments(v, w):
        """Spread, skewness and kurtosis over the masked frames."""
        z = v - masked_mean(v, w).unsqueeze(1)
        z2 = z * z
        s = torch.sqrt(masked_mean(z2, w) + ROUNDING)
        third, fourth = masked_mean(z2 * z, w), masked_mean(z2 * z2, w)
        return s, (third / s ** 3).clamp(-6, 6), (fourth / s ** 4).clamp(0, 20)

    def modulation(self, fine, w):
        """Modulation of the log spectrum in stretches of 64 frames, against the slowest of each band."""
        z = fine - masked_mean(fine, w).unsqueeze(1)
        # Twice: near-constant bands at the floor would show the first mean's rounding.
        z = (z - masked_mean(z, w).unsqueeze(1))[:, :1984].reshape(-1, 31, 64, 16).transpose(2, 3)
        power = split_power(torch.matmul(z, self.slow))[2]  # [N, 31, 16, 32]
        share = w[:, :1984].reshape(-1, 31, 64).mean(2)
        m = masked_mean(torch.log(power + 1e-3).reshape(-1, 31, 512), share).reshape(-1, 16, 8, 4).mean(3)
        return (m[:, :, 1:] - m[:, :, :1]).reshape(-1, 112)


class Tonal(nn.Module):
    """Fine structure of the long-term spectrum (3.9 Hz): lines and combs.

    The 4,096-point transform runs as two stages of 64 points.
    """

    def __init__(self):
        super().__init__()
        k = np.arange(64)
        turn = 2 * np.pi * np.outer(k, k) / 64
        twist = 2 * np.pi * np.outer(k, k) / 4096
        fr, fi = np.cos(turn)[:, :32], -np.sin(turn)[:, :32]
        keep(self, window=hann(4096), cos=np.cos(twist), sin=-np.sin(twist), cover=self.coverage(),
             first=np.concatenate([np.cos(turn), -np.sin(turn)]),  # [128, 64]
             second=np.block([[fr, fi], [-fi, fr]]))  # [128, 64]

    @staticmethod
    def coverage():
        """[398, 30]: which 10 ms frames lie in which 4,096-sample frame."""
        middle = np.arange(398) * 160 + 200
        start = np.arange(30) * 2048
        inside = (middle[:, None] >= start) & (middle[:, None] < start + 4096)
        return inside / inside.sum(0)

    def forward(self, x, span):
        f = (frames(x, 4096, 2048) * self.window).reshape(-1, 30, 64, 64)
        a = torch.matmul(self.first, f)
        re, im = a[:, :, :64], a[:, :, 64:]
        re, im = re * self.cos - im * self.sin, re * self.sin + im * self.cos
        power = split_power(torch.matmul(torch.cat([re, im], 3), self.second))[2]  # [N, 30, k1, k2]
        fine = torch.log(power.transpose(2, 3).reshape(-1, 30, 2048) + 1e-5)
        z = masked_mean(fine, torch.matmul(span, self.cover))
        z = torch.cat([z[:, 1:2], z[:, 1:]], dim=1)
        z = z - self.median(z)
        blocks = z.reshape(-1, 8, 256)
        return torch.cat([*moments(blocks, 2), blocks.amax(2), self.comb(z)], 1)

    @staticmethod
    def median(z):
        """Running median over 31 of 2,048 bins, the ends repeated: from the sorted 16 bins that begin 15 below
        and at each, which hold the bin in the middle twice: of these 32 it is the 17th where that bin is among the
        lower 16, else the 16th. Neighbours share all steps of sorting but the last."""
        ends = [z[:, k:k + 1].expand(-1, 15) for k in (0, 2047)]
        runs = torch.cat([ends[0], z, ends[1]], 1).unsqueeze(1)
        for size in (1, 2, 4, 8):
            runs = merged(runs[:, :, :-size], runs[:, :, size:])
        below, above = runs[:, :, :-15], runs[:, :, 15:].flip(1)
        lower, upper = torch.minimum(below, above).amax(1), torch.maximum(below, above).amin(1)
        return torch.where(z <= lower, upper, lower)

    @staticmethod
    def comb(z):
        """Autocorrelation near the lags that upsampling by whole factors leaves: each block of 64 bins times
        the 129 that begin with it, summed over the blocks; a lag is a diagonal of that."""
        z = z - z.mean(1, keepdim=True)
        blocks = torch.cat([z, torch.zeros_like(z[:, :128])], 1).reshape(-1, 34, 64)
        ahead = torch.cat([blocks[:, :32], blocks[:, 1:33], blocks[:, 2:, :1]], 2)
        r = torch.matmul(blocks[:, :32].transpose(1, 2), ahead)  # [N, 64, 129]
        r = nn.functional.pad(r.reshape(-1, 64 * 129), (0, 64)).reshape(-1, 64, 130)  # a lag to a column, whole up to 65
        r = r.sum(1)[:, LAGS] / ((z * z).sum(1, keepdim=True) + 1e-9)
        return r.reshape(-1, len(LAGS) // 3, 3).amax(2)
