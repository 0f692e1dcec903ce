"""First feature family: statistics of linear-frequency cepstra, modulation,
harmonic regularity and noise-likeness. A port of the NumPy study to PyTorch,
with silence handled by masks instead of by trimming."""
import numpy as np
import torch
from torch import nn

from frontend import (FRAMES, dct_matrix, dft_matrix, hann, masked_mean,
                      masked_percentiles, masked_std, split_power)

BANDS = 40
MODULATION = [(8, 20), (20, 41), (41, 82), (82, 164), (164, 257)]  # 1.6 to 50 Hz


def triangles(bands=BANDS, bins=256):
    """[bins, bands] triangular filters, evenly spaced in frequency."""
    c = np.linspace(0, bins, bands + 2)
    f = np.arange(bins)[:, None] + 1
    rise, fall = (f - c[:-2]) / (c[1:-1] - c[:-2]), (c[2:] - f) / (c[2:] - c[1:-1])
    return torch.tensor(np.clip(np.minimum(rise, fall), 0, None), dtype=torch.float32)


def slope(v):
    """Central difference along time, one-sided at the ends (np.gradient)."""
    inner = (v[:, 2:] - v[:, :-2]) / 2
    return torch.cat([v[:, 1:2] - v[:, :1], inner, v[:, -1:] - v[:, -2:-1]], dim=1)


class Cepstral(nn.Module):
    """Power spectrum and masks -> dictionary of named [N, K] statistics."""

    def __init__(self):
        super().__init__()
        self.register_buffer("bands", triangles())
        self.register_buffer("lfcc", dct_matrix(BANDS, range(30)))
        lo, hi = MODULATION[0][0], MODULATION[-1][1]
        self.register_buffer("slow", dft_matrix(hann(FRAMES), 512, lo, hi))
        mean = np.zeros((hi - lo, len(MODULATION)))
        for i, (a, b) in enumerate(MODULATION):
            mean[a - lo:b - lo, i] = 1 / (b - a)
        self.register_buffer("slow_bands", torch.tensor(mean, dtype=torch.float32))
        wanted = range(1, 65, 2)
        self.register_buffer("low_comb", dct_matrix(96, wanted))
        self.register_buffer("high_comb", dct_matrix(160, wanted))

    def forward(self, power, active, span):
        band = torch.log(torch.matmul(power, self.bands) + 1e-3)
        fine = torch.log(power + 1e-4)
        out = {}
        self.cepstra(out, band, span)
        self.contrast(out, band, fine, span)
        self.moments(out, band, active)
        self.modulation(out, band, span)
        self.comb(out, fine, active)
        self.flatness(out, power, fine, active)
        return out

    def cepstra(self, out, band, span):
        """Spread of 30 linear-frequency cepstra, their slopes and the slopes of those."""
        c = torch.matmul(band, self.lfcc)
        d = slope(c)
        out["lfcc_std"] = masked_std(torch.cat([c, d, slope(d)], dim=2), span)

    def contrast(self, out, band, fine, span):
        """How bands vary, how low they fall, and steps of the log spectrum along either axis."""
        s = masked_std(band, span)
        out["band_std"] = s - s.mean(1, keepdim=True)
        low, mid = masked_percentiles(band, span, (0.05, 0.5))
        out["band_p5"] = low - mid
        side = (fine[:, :, 1:] - fine[:, :, :-1]).abs()
        side = torch.cat([side, torch.zeros_like(side[:, :, :1])], dim=2)
        out["dfreq"] = masked_mean(side, span).reshape(-1, 32, 8).mean(2)
        step = (fine[:, 1:] - fine[:, :-1]).abs()
        out["dtime"] = masked_mean(step, span[:, 1:]).reshape(-1, 32, 8).mean(2)

    def moments(self, out, band, active):
        """Skewness and kurtosis of each band."""
        w = active.unsqueeze(2)
        z = (band - masked_mean(band, active).unsqueeze(1)) * w
        n = active.sum(1, keepdim=True)
        z2 = z * z
        sd = torch.sqrt(z2.sum(1) / n + 1e-10) + 1e-3
        out["skew"] = (z2 * z).sum(1) / n / sd ** 3
        out["kurt"] = ((z2 * z2).sum(1) / n / sd ** 4).clamp(0, 12)

    def modulation(self, out, band, span):
        """Slow modulation of the bands, against the slowest of each."""
        z = (band - masked_mean(band, span).unsqueeze(1)) * span.unsqueeze(2)
        power = split_power(torch.matmul(z.transpose(1, 2), self.slow))[2]
        m = torch.log(torch.matmul(power, self.slow_bands) + 1e-3)  # [N, 40, 5]
        m = m.reshape(-1, 10, 4, len(MODULATION)).mean(2)
        out["mod"] = (m[:, :, 1:] - m[:, :, :1]).reshape(-1, 40)

    def comb(self, out, fine, active):
        """Cepstra of the lower and the upper log spectrum at odd quefrencies."""
        for name, part, matrix in (("cepl", fine[:, :, :96], self.low_comb),
                                   ("ceph", fine[:, :, 96:], self.high_comb)):
            q = part - part.mean(2, keepdim=True)
            c = torch.log(torch.matmul(q, matrix).abs() + 0.05)
            out[name] = torch.cat([masked_mean(c, active), masked_std(c, active)[:, ::2]], dim=1)

    def flatness(self, out, power, fine, active):
        """Spectral flatness in 16 parts of the spectrum."""
        shape = (-1, FRAMES, 16, 16)
        flat = fine.reshape(shape).mean(3) - torch.log(power.reshape(shape).mean(3) + 1e-4)
        out["flat"] = torch.cat([masked_mean(flat, active), masked_std(flat, active)], dim=1)
