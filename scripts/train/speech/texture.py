"""Second feature family: phase, periodicity of band envelopes, 6 ms dynamics and
tonal fine structure."""
import numpy as np
import torch
from torch import nn

from frontend import (WINDOW, dft_matrix, frames, hann, keep, masked_mean,
                      masked_percentiles, masked_std, split_power)

ENVELOPES = [(200, 1000), (1000, 2000), (2000, 4000), (4000, 7500)]  # Hz
LAGS = [q + d for q in (16, 18, 20, 22, 24, 32, 40, 44, 48, 64) for d in (-1, 0, 1)]


def moments(v, dim):
    """Deviation, skewness and kurtosis along one dimension, bounded."""
    z = v - v.mean(dim, keepdim=True)
    z2 = z * z
    s = torch.sqrt(z2.mean(dim) + 1e-12) + 1e-4
    return s, ((z2 * z).mean(dim) / s ** 3).clamp(-6, 6), ((z2 * z2).mean(dim) / s ** 4).clamp(0, 20)


class Phase(nn.Module):
    """Deviation of instantaneous frequency from the bin (in bins) and group
    delay (in half windows), every 20 ms, in 16 bands, over strong bins only."""

    def __init__(self):
        super().__init__()
        ramp = hann(400) * (np.arange(400) - 199.5) / 200
        self.register_buffer("ramp", dft_matrix(ramp, 512, 1, 257))
        turn = 2 * np.pi * np.arange(1, 257) / 512
        keep(self, cos=np.cos(turn), sin=np.sin(turn))

    def forward(self, x, dft, re, im, power, active):
        re, im, power = re[:, ::2], im[:, ::2], power[:, ::2]
        f = frames(x, 480, 320)
        re1, im1, _ = split_power(torch.matmul(f[:, :, 1:401], dft))
        ren, imn, _ = split_power(torch.matmul(f[:, :, :400], self.ramp))
        # One sample later, a sine at the middle of its bin has turned by `turn`.
        across, along = im1 * re - re1 * im, re1 * re + im1 * im
        real = (along * self.cos + across * self.sin).clamp(min=1e-9)
        dev = ((across * self.cos - along * self.sin) / real * (512 / (2 * np.pi))).clamp(-6, 6)
        delay = ((ren * re + imn * im) / (power + 1e-9)).clamp(-1.5, 1.5)
        ok = (power > 1e-4).float()
        w = active[:, ::2][:, :199]
        weight = masked_mean(ok, w).reshape(-1, 16, 16).sum(2) + 1e-3
        parts = (dev.abs(), delay.abs(), self.step(dev), self.step(delay))
        return torch.cat([masked_mean(p * ok, w).reshape(-1, 16, 16).sum(2) / weight for p in parts], 1)

    @staticmethod
    def step(v):
        """Size of the steps between neighbouring bins; the last bin stands for itself."""
        d = (v[:, :, 1:] - v[:, :, :-1]).abs()
        return torch.cat([d, v[:, :, -1:].abs()], dim=2)


class Periodicity(nn.Module):
    """Strength of the pitch (62 to 400 Hz) in the envelopes of four bands."""

    def __init__(self):
        super().__init__()
        n = np.arange(-64, 65)
        kernels = []
        for lo, hi in ENVELOPES:
            ideal = np.sinc(n * (hi - lo) / 16000) * (hi - lo) / 8000 * np.hanning(131)[1:-1]
            turn = 2 * np.pi * (lo + hi) / 2 * n / 16000
            kernels += [ideal * np.cos(turn), ideal * np.sin(turn)]
        keep(self, kernels=np.array(kernels)[:, None])
        self.register_buffer("dft", dft_matrix(hann(80), 192, 0, 97))
        f = np.arange(97)[:, None]
        lags = np.concatenate([[0], np.arange(5, 32)])[None]
        inverse = np.cos(2 * np.pi * f * lags / 192) * np.where((f == 0) | (f == 96), 1, 2) / 192
        keep(self, inverse=inverse)

    def forward(self, x, active):
        y = nn.functional.conv1d(x.unsqueeze(1), self.kernels, stride=8, padding=64)
        envelope = torch.sqrt(y[:, 0::2] ** 2 + y[:, 1::2] ** 2 + 1e-12)  # [N, 4, 8000]
        g = frames(envelope.reshape(-1, WINDOW // 8), 80, 20)  # [4N, 397, 80]
        g = g - g.mean(2, keepdim=True)
        a = torch.matmul(split_power(torch.matmul(g, self.dft))[2], self.inverse)
        r = a[:, :, 1:].amax(2) / (a[:, :, 0] + 1e-9)
        r = r.reshape(-1, 4, 397).transpose(1, 2)
        w = active[:, :397]
        z = (r - masked_mean(r, w).unsqueeze(1))
        s = masked_std(r, w) + 1e-4
        pairs = [masked_mean((z[:, :, i] * z[:, :, j]).unsqueeze(2), w) / (s[:, i:i + 1] * s[:, j:j + 1])
                 for i in range(4) for j in range(i + 1, 4)]
        return torch.cat([masked_mean(r, w), s, *masked_percentiles(r, w, (0.1, 0.9)), *pairs], 1)


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
        s = torch.sqrt(masked_mean(z2, w) + 1e-12) + 1e-4
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
        """Running median over 31 of 2,048 bins, the ends repeated."""
        ends = [z[:, :1].expand(-1, 15), z, z[:, -1:].expand(-1, 15)]
        near = torch.stack([torch.cat(ends, 1)[:, i:i + 2048] for i in range(31)], dim=2)
        return torch.topk(near, 16, dim=2)[0][:, :, 15]

    @staticmethod
    def comb(z):
        """Autocorrelation near the lags that upsampling by whole factors leaves."""
        z = z - z.mean(1, keepdim=True)
        r = torch.stack([(z[:, :2048 - lag] * z[:, lag:]).sum(1) for lag in LAGS], dim=1)
        r = r / ((z * z).sum(1, keepdim=True) + 1e-9)
        return r.reshape(-1, len(LAGS) // 3, 3).amax(2)


class Texture(nn.Module):
    """All of the second family as a dictionary of named [N, K] statistics."""

    def __init__(self):
        super().__init__()
        self.phase, self.periodicity, self.dynamics = Phase(), Periodicity(), Dynamics()
        self.tonal = Tonal()

    def forward(self, x, dft, re, im, power, active, span):
        return {"phase": self.phase(x, dft, re, im, power, active), "period": self.periodicity(x, active),
                "short": self.dynamics(x, span), "tonal": self.tonal(x, span)}
