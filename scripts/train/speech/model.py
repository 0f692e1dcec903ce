"""The whole model: raw windows to one logit each, in one exportable module."""
import torch
from torch import nn

from cepstral import Cepstral
from classifier import LEAST
from frontend import WINDOW, Activity, Level, Spectrum
from network import Network
from texture import Dynamics, Tonal


class Features(nn.Module):
    """[N, 64000] raw windows -> [N, K] statistics, those of the network last, [N]
    `audible` (see Level), and [N] `lively`: 1, falling to LEAST for steady noise,
    whose loudness hardly moves (deviation of the first cepstral coefficient: below
    0.65 for noise, above 1.7 for all speech that was seen, in every condition).
    `weights` is the folder of pretrained weights."""

    def __init__(self, weights):
        super().__init__()
        self.level, self.spectrum, self.activity = Level(), Spectrum(), Activity()
        self.cepstral, self.dynamics, self.tonal = Cepstral(), Dynamics(), Tonal()
        self.network = Network(weights)

    def forward(self, samples):
        x, audible = self.level(samples)
        power = self.spectrum(x)
        active, span = self.activity(power.sum(2))
        named = self.cepstral(power, active, span)
        lively = ((named["lfcc_std"][:, 0] - 0.8) / 0.6).clamp(LEAST, 1)
        parts = [*named.values(), self.dynamics(x, span), self.tonal(x, span), self.network(power, active)]
        return torch.cat(parts, dim=1), audible, lively


class Detector(nn.Module):
    """classifier.Classifier behind Features. Input `samples` [N, 64000] float32 at 16 kHz in
    [-1, 1]; output `logit` [N], which is near 0 where there is nothing to judge."""

    def __init__(self, features, classifier):
        super().__init__()
        self.features, self.classifier = features, classifier

    def forward(self, samples):
        features, audible, lively = self.features(samples.reshape(-1, WINDOW))
        value, familiar = self.classifier(features)
        return value * torch.minimum(lively, familiar) * audible
