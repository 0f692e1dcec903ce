"""The whole model: raw windows to one logit each, in one exportable module."""
import torch
from torch import nn

from cepstral import Cepstral
from classifier import BOUND, FAMILIAR, LEAST, PARTS, STEP, STRANGE
from frontend import WINDOW, Activity, Level, Spectrum, keep
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


class Head(nn.Module):
    """Standardise, clip, and classifier.SVM: one matrix product and an exponential.
    -> value, largest kernel value.

    The weighted sum runs in double precision: its terms nearly cancel, and in
    single precision the logit would depend on the order of summation.
    """

    def __init__(self, svm):
        super().__init__()
        keep(self, mean=svm.scaler.mean, inverse=1 / svm.scaler.deviation,
             norms=(svm.vectors.astype("float64") ** 2).sum(1))
        self.register_buffer("coded", torch.as_tensor(svm.coded.T.copy()))
        self.register_buffer("weights", torch.as_tensor(svm.weights, dtype=torch.float64))
        self.gamma, self.bias = float(svm.gamma), float(svm.bias)

    def forward(self, features):
        a = ((features - self.mean) * self.inverse).clamp(-BOUND, BOUND)
        far = (a * a).sum(1, keepdim=True) + self.norms - 2 * torch.matmul(a, self.coded.float() * STEP)
        near = torch.exp(far.clamp(min=0).double() * -self.gamma)
        return torch.matmul(near, self.weights) + self.bias, near.amax(1)


class Detector(nn.Module):
    """classifier.Pair behind Features. Input `samples` [N, 64000] float32 at 16 kHz in
    [-1, 1]; output `logit` [N], which is near 0 where there is nothing to judge."""

    def __init__(self, features, pair):
        super().__init__()
        self.features, self.heads = features, nn.ModuleList([Head(svm) for svm in pair.svms])

    def forward(self, samples):
        features, audible, lively = self.features(samples.reshape(-1, WINDOW))
        (value, near), (other, _) = (head(features[:, columns]) for head, (columns, _) in zip(self.heads, PARTS))
        familiar = ((near - STRANGE) / (FAMILIAR - STRANGE)).clamp(LEAST, 1).float()
        return ((value + other) / 2).float() * torch.minimum(lively, familiar) * audible
