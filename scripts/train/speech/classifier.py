"""Networks of one hidden layer over the statistics of windows, how familiar those are, and pairs of such for wide and for narrow sound."""
import numpy as np
import torch
import torch.nn.functional as F
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from torch import nn

from frontend import keep
from vision.export import rounded  # by the path that frontend adds

STATISTICS = 484  # columns; the network's follow
VARYING = slice(90, 170)  # of those, how 40 bands of the spectrum vary and how low they fall (cepstral.contrast)
BOUND = 6.0  # deviations

NETS, HIDDEN = 2, 256
DROPPED = 0.2, 0.5  # of the columns and of the hidden values
MIXED = 0.2  # both parameters of the beta distribution, see trained
EPOCHS, BATCH, RATE, DECAY = 40, 128, 3e-3, 1e-2
BYTES = (2,)  # dimensions of the weights that are kept in 8 bits, before anything is measured: of the matrices

CENTRES, STEEPNESS = 16, 0.15
STRANGE, FAMILIAR = 0.36, 0.5  # nearness, see Classifier
LEAST = 0.03  # what remains of a value that means nothing; not 0, so that a self-test on noise tells something


class Net(nn.Module):
    """[N, columns] statistics on one scale -> [N] log-odds."""

    def __init__(self, columns):
        super().__init__()
        self.first, self.last = nn.Linear(columns, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, a):
        hidden = F.gelu(self.first(F.dropout(a, DROPPED[0], self.training)))
        return self.last(F.dropout(hidden, DROPPED[1], self.training))[:, 0]


def trained(a, label, weight, seed):
    """A net that has seen each row as often as it weighs, mixed with others (mixup, Zhang et al., ICLR 2018)."""
    torch.manual_seed(seed)
    random, net = np.random.RandomState(seed), Net(a.shape[1]).train()
    steps = max(1, EPOCHS * len(a) // BATCH)
    optimiser = torch.optim.AdamW(net.parameters(), weight_decay=DECAY)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps, pct_start=0.2)
    drawn = torch.multinomial(weight, steps * BATCH, replacement=True).view(steps, BATCH)
    for rows in drawn:
        share, other = random.beta(MIXED, MIXED), rows[torch.randperm(BATCH)]
        mixed = share * a[rows] + (1 - share) * a[other]
        loss = F.binary_cross_entropy_with_logits(net(mixed), share * label[rows] + (1 - share) * label[other])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        rate.step()
    return rounded(net.eval(), BYTES)


class Classifier(nn.Module):
    """Some nets, whose mean counts, from rows of statistics with labels and weights.

    A window whose statistics are far from all centres of those that taught it is nothing
    to judge: its value shrinks to LEAST as its nearness, a Gaussian of the distance to the next
    centre, falls from FAMILIAR to STRANGE. Of unseen speech, in every condition, 99 windows in 100 lie
    above 0.74; clicks, sweeps and chords lie below 0.36.
    """

    def __init__(self, x, label, weight):
        super().__init__()
        mean = np.average(x, 0, weight)
        deviation = np.sqrt(np.average((x - mean) ** 2, 0, weight)) + 1e-4
        keep(self, mean=mean, inverse=1 / deviation, scale=np.ones(()))
        a = self.scaled(torch.from_numpy(x.astype(np.float32)))
        known = a[:, :STATISTICS].numpy()
        means = KMeans(min(CENTRES, len(known)), n_init=1, random_state=0).fit(known, sample_weight=weight).cluster_centers_
        keep(self, centres=means.T.copy(), norms=(means ** 2).sum(1))
        self.steepness = STEEPNESS / known.shape[1]
        label, weight = (torch.as_tensor(v, dtype=torch.float32) for v in (label, weight))
        self.nets = nn.ModuleList([trained(a, label, weight, seed) for seed in range(NETS)])

    def scaled(self, x):
        """Statistics as deviations from their weighted mean, within BOUND."""
        return ((x - self.mean) * self.inverse).clamp(-BOUND, BOUND)

    def forward(self, x):
        """[N, columns] statistics -> [N] values, [N] familiar: 1, falling to LEAST."""
        a = self.scaled(x)
        value = torch.stack([net(a) for net in self.nets]).mean(0) * self.scale
        known = a[:, :STATISTICS]
        far = (known * known).sum(1, keepdim=True) + self.norms - 2 * torch.matmul(known, self.centres)
        near = torch.exp(far.clamp(min=0) * -self.steepness).amax(1)
        return value, ((near - STRANGE) / (FAMILIAR - STRANGE)).clamp(LEAST, 1)

    def divided(self, factor):
        """The same classifier with its values divided by `factor`."""
        self.scale /= factor
        return self


class Band(nn.Module):
    """How surely a window is of a narrow band, 0 to 1, from how its spectrum's bands vary and fall: a
    logistic regression on some 80 of the statistics. Beyond a telephone's band nothing does either."""

    def __init__(self, x, narrow):
        super().__init__()
        own = x[:, VARYING]
        scale = np.abs(own).mean(0) + 1e-3
        model = LogisticRegression(max_iter=500, class_weight="balanced").fit(own / scale, narrow)
        keep(self, weight=model.coef_[0] / scale, bias=model.intercept_[0])

    def forward(self, x):
        """[N, columns] statistics -> [N]."""
        return torch.sigmoid(torch.matmul(x[:, VARYING], self.weight) + self.bias)


class Pair(nn.Module):
    """A classifier of wide sound and one of narrow sound, whose values count as far as a window's band is their
    own. What is familiar the first one says, which knows both: to the other a click is speech."""

    def __init__(self, wide, narrow, band):
        super().__init__()
        self.wide, self.narrow, self.band = wide, narrow, band

    def forward(self, x):
        """As Classifier's."""
        share = self.band(x)
        (value, familiar), (other, _) = self.wide(x), self.narrow(x)
        return value + share * (other - value), familiar

    def divided(self, factor):
        """The same pair with its values divided by `factor`."""
        self.wide.divided(factor)
        self.narrow.divided(factor)
        return self


def score(classifier, x):
    """Values of rows of statistics, as an array; those unlike anything in training come near 0."""
    with torch.no_grad():
        value, familiar = classifier(torch.from_numpy(x.astype(np.float32)))
    return (value * familiar).numpy().astype(np.float64)
