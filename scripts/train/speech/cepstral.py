"""First family of statistics: linear-frequency cepstra, contrast of bands and
harmonic regularity, with silence handled by masks instead of by trimming."""
import numpy as np
import torch
from torch import nn

from frontend import dct_matrix, masked_mean, masked_percentiles, masked_std

BANDS = 40


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
        wanted = range(1, 65, 2)
        self.register_buffer("low_comb", dct_matrix(96, wanted))
        self.register_buffer("high_comb", dct_matrix(160, wanted))

    def forward(self, power, active, span):
        band = torch.log(torch.matmul(power, self.bands) + 1e-3)
        fine = torch.log(power + 1e-4)
        out = {}
        self.cepstra(out, band, span)
        self.contrast(out, band, span)
        self.comb(out, fine, active)
        return out

    def cepstra(self, out, band, span):
        """Spread of 30 linear-frequency cepstra, their slopes and the slopes of those."""
        c = torch.matmul(band, self.lfcc)
        d = slope(c)
        out["lfcc_std"] = masked_std(torch.cat([c, d, slope(d)], dim=2), span)

    def contrast(self, out, band, span):
        """How bands vary, and how low they fall."""
        s = masked_std(band, span)
        out["band_std"] = s - s.mean(1, keepdim=True)
        low, mid = masked_percentiles(band, span, (0.05, 0.5))
        out["band_p5"] = low - mid

    def comb(self, out, fine, active):
        """Cepstra of the lower and the upper log spectrum at odd quefrencies."""
        for name, part, matrix in (("cepl", fine[:, :, :96], self.low_comb),
                                   ("ceph", fine[:, :, 96:], self.high_comb)):
            q = part - part.mean(2, keepdim=True)
            c = torch.log(torch.matmul(q, matrix).abs() + 0.05)
            out[name] = torch.cat([masked_mean(c, active), masked_std(c, active)[:, ::2]], dim=1)
