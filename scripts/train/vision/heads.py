"""Trains heads on statistics, and judges statistics by them."""

import numpy as np
import torch
import torch.nn.functional as F

from vision import judge, likeness
from vision.folds import sampling_weights

SCALED = 20_000  # rows that the statistics' means and deviations are of


class Rows:
    """The training rows of pictures or faces, drawn by their weights; statistics are float16."""

    def __init__(self, items, features, options):
        """features has the statistics of each item by the kind of row; overviews and small of the options are their shares of the draws."""
        self.weights, self.overviews = sampling_weights(items, options.get("media")), options["overviews"]
        self.share, self.small = options.get("small", 0), [f.get("small", ()) for f in features]
        self.labels = np.array([i.fake for i in items])
        self.tiles = [np.concatenate([f["clean"], f["tiles"]]) for f in features]
        self.wholes = [np.concatenate([f["overview"], f["overviews"]]) for f in features]

    def draw(self, random, count):
        """count rows as float32, and their labels."""
        chosen = random.choice(len(self.labels), count, p=self.weights)
        rows = np.stack([self.row(k, random) for k in chosen]).astype(np.float32)
        return torch.from_numpy(rows), torch.from_numpy(self.labels[chosen]).float()

    def row(self, k, random):
        """One row of a picture: some of its tiles are as they are judged, the others are views."""
        if len(self.small[k]) and random.rand() < self.share:
            return self.small[k][random.randint(len(self.small[k]))]
        if len(self.wholes[k]) and random.rand() < self.overviews:
            return self.wholes[k][random.randint(len(self.wholes[k]))]
        return self.tiles[k][random.randint(len(self.tiles[k]))]


def train(items, features, options, seed):
    """Several heads on the same scale, as one."""
    rows, random = Rows(items, features, options), np.random.RandomState(seed)
    some, _ = rows.draw(random, SCALED)
    mean, deviation = some.mean(0), some.std(0) + 1e-6
    head = judge.together([one(rows, mean, deviation, options, seed + k) for k in range(options["heads"])])
    return likeness.weighed(head, items, features, options, seed) if "likeness" in options else head


def one(rows, mean, deviation, options, seed):
    """One head: AdamW, a warm start, a cosine's end."""
    torch.manual_seed(seed)
    random, net = np.random.RandomState(seed), judge.Head(mean, deviation, options["hidden"]).train()
    optimiser = torch.optim.AdamW(net.parameters(), weight_decay=options["decay"])
    for step in range(options["steps"]):
        for group in optimiser.param_groups:
            group["lr"] = options["rate"] * min(1, (step + 1) / 30) * 0.5 * (1 + np.cos(np.pi * step / options["steps"]))
        x, labels = rows.draw(random, options["batch"])
        loss = F.binary_cross_entropy_with_logits(net(x, options["dropout"]), labels * 0.9 + 0.05)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return net.eval()


def judged(head, statistics):
    """The log-odds of rows of statistics, as much of them as counts."""
    told = head(torch.from_numpy(statistics.astype(np.float32))).numpy()
    return told if told.ndim == 1 else told.prod(1)
