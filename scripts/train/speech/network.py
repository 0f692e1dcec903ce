"""Statistics of a network's feature maps: the first seven convolutions of YAMNet,
a MobileNet for sounds (AudioSet), left as they were published."""
import os

import numpy as np
import torch
from torch import nn

from frontend import keep, masked_mean
from vision.tensorflow_lite import TensorFlowLite  # by the path that frontend adds

FILE = os.path.join("yamnet", "yamnet_spectra_in.tflite")
ORIGIN = ("The first seven convolutions of YAMNet, AudioSet, models/yamnet_spectra_in.tflite of "
          "google-coral/coralmicro at c9f665b0a8b9 (Apache-2.0), dequantised")
BANDS = 64
CONVOLUTIONS = 7
FIRST, LAST = 7, 391  # frames: a multiple of 8
HALVES = 2  # of the frequency axis
USUAL = -2.4  # log-mel level that each band is brought to: the mean of the clips
FLOOR = 0.02


def mel_filters():
    """[256, BANDS] triangles, evenly spaced in mel from 125 to 7,500 Hz, as YAMNet has them."""
    def mel(hertz):
        return 1127 * np.log(1 + hertz / 700)

    c = np.linspace(mel(125.0), mel(7500.0), BANDS + 2)
    f = mel(np.arange(1, 257) * 31.25)[:, None]
    rise, fall = (f - c[:-2]) / (c[1:-1] - c[:-2]), (c[2:] - f) / (c[2:] - c[1:-1])
    return np.clip(np.minimum(rise, fall), 0, None)


def convolutions(path):
    """The first convolutions of the file, in eval mode. Both sides of every map
    halve without a rest, so one side's length serves for either."""
    source, layers, side = TensorFlowLite(path), [], BANDS
    for kind, operator in source.operators():
        if kind in ("CONV_2D", "DEPTHWISE_CONV_2D") and len(layers) < CONVOLUTIONS:
            layers.append(source.convolution(kind, operator, side))
            side //= layers[-1].conv.stride[0]
    return nn.Sequential(*layers).eval()


class Network(nn.Module):
    """Power spectrum and activity mask -> [N, 768]: of 128 channels in two halves of
    the frequency axis the mean over time, the logarithm of the deviation, and that
    of the root mean square step, over active frames.

    Each log-mel band is first brought to the same mean: a microphone, a line or an
    equaliser must not show.
    """

    def __init__(self, weights):
        super().__init__()
        keep(self, mel=mel_filters())
        self.layers = convolutions(os.path.join(weights, FILE))

    def forward(self, power, active):
        w = active[:, FIRST:LAST]
        x = torch.log(torch.matmul(torch.sqrt(power[:, FIRST:LAST]), self.mel) + 0.001)
        x = x - masked_mean(x, w).unsqueeze(1) + USUAL
        x = self.layers(x.unsqueeze(1))  # [N, 128, 96, 16]
        w = w.reshape(-1, 96, 4).mean(2)
        mean = self.average(x, w)
        spread = (self.average(x * x, w) - mean * mean).clamp(min=0)
        step = x[:, :, 1:] - x[:, :, :-1]
        step = self.average(step * step, torch.minimum(w[:, 1:], w[:, :-1]))
        return torch.cat([self.halves(mean)] + [torch.log(self.halves(torch.sqrt(v + 1e-8)) + FLOOR)
                                                for v in (spread, step)], dim=1)

    @staticmethod
    def average(v, w):
        """[N, C, T, F], [N, T] -> [N, C, F] weighted mean over time."""
        share = w / (w.sum(1, keepdim=True) + 1e-6)
        return torch.matmul(share[:, None, None], v)[:, :, 0]

    @staticmethod
    def halves(v):
        """[N, 128, 16] -> [N, 256] means of halves of the frequency axis."""
        return v.reshape(-1, 128, HALVES, 16 // HALVES).mean(3).reshape(-1, 128 * HALVES)
