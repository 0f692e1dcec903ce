"""Training on genuine faces and their blended twins, both in one batch."""

import copy
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from vision.detector import follow, freeze, pooled_features, probe, tensor
from vision.folds import sampling_weights

import views

WINDOW = 128  # pixels, side of the part of a crop that is learned from: a third cheaper, and the network is the same
KEPT = 400  # pairs of views that are drawn from again
WATCHED = 100  # steps between two lines of progress


class Pairs:
    """Draws batches of pairs of views; a quarter of a batch is new, the rest is of the last KEPT."""

    def __init__(self, items, seed, tight):
        self.items, self.weights, self.tight = items, sampling_weights(items), tight
        self.random, self.kept = np.random.RandomState(seed), []

    def new(self):
        """A genuine crop and its twin."""
        pair = self.of(self.items[self.random.choice(len(self.items), p=self.weights)])
        self.kept = [*self.kept[1 - KEPT :], pair]
        return pair

    def of(self, item):
        """A new pair of views of one face."""
        return views.pair(self.items, item, self.random, self.tight)

    def batch(self, count):
        """Windows of count pairs, 2·count×WINDOW×WINDOW×3 uint8, and their labels."""
        old = [self.kept[self.random.randint(len(self.kept))] for _ in range(count - count // 4)] if self.kept else []
        rows = [row for pair in old + [self.new() for _ in range(count - len(old))] for row in self.window(pair)]
        return np.stack(rows), [0, 1] * count

    def window(self, pair):
        """The same part of both, flipped or not."""
        y, x = self.random.randint(0, pair[0].shape[0] - WINDOW + 1, 2)
        flip = -1 if self.random.rand() < 0.5 else 1
        return [np.ascontiguousarray(p[y : y + WINDOW, x : x + WINDOW][:, ::flip]) for p in pair]


def probed(plain, pairs, count, strength):
    """A copy whose head is a logistic regression on the untouched features of count pairs."""
    net, rounds = copy.deepcopy(plain), []
    for _ in range(count // 16):
        rows = np.stack([row for _ in range(16) for row in pairs.window(pairs.new())])
        rounds.append(pooled_features(net, rows))
    features = np.concatenate(rounds)
    labels = np.tile([0, 1], len(features) // 2)
    probe(net, features, labels, np.full(len(features), 1 / len(features)), strength)
    return net


def learn(net, optimiser, rows, labels, options):
    """One step on a batch of pairs, genuine before blended; returns the share of pairs that were ranked wrongly.

    Cross-entropy says where the line between the two is. Beside it the twins
    of a pair are ranked: what both show cancels out, and the blend is left.
    """
    logits = net(tensor(rows), options["dropout"])
    truth = torch.tensor(labels).float() * 0.9 + 0.05
    gap = logits[1::2] - logits[0::2]
    loss = F.binary_cross_entropy_with_logits(logits, truth) + options["ranking"] * F.softplus(-gap).mean()
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(optimiser.param_groups[0]["params"], 1.0)
    optimiser.step()
    return (gap <= 0).float().mean().item()


def train(plain, items, options, watch=lambda net, step: ""):
    """A trained copy of the detector: the running mean of its weights.

    The rate stays what it is once it is reached; the mean does what a falling
    one would, and the number of steps is free. watch(net, step) gives what a
    line of progress adds.
    """
    torch.manual_seed(options["seed"])
    pairs, begun = Pairs(items, options["seed"], options["tight"]), time.process_time()
    net = probed(plain, pairs, options["probed"], options["probe"]) if options["probed"] else copy.deepcopy(plain)
    net.requires_grad_(True)
    net = net.to(memory_format=torch.channels_last).train()
    tuned = freeze(net, options["frozen"])
    optimiser = torch.optim.AdamW([*tuned, *net.head.parameters()], lr=0.0, weight_decay=options["decay"])
    mean, running = copy.deepcopy(net), 0.0
    for step in range(options["steps"]):
        optimiser.param_groups[0]["lr"] = options["rate"] * min(1, (step + 1) / 40)
        wrong = learn(net, optimiser, *pairs.batch(options["pairs"]), options)
        follow(mean, net, min(options["average"], step / (step + 10)))
        running += (wrong - running) / min(step + 1, 50)
        if (step + 1) % WATCHED == 0:
            print(f"  step {step + 1}: {running:.3f} of the pairs wrong, {(time.process_time() - begun) / 60:.1f} minutes {watch(mean, step + 1)}", flush=True)
    return mean.eval().requires_grad_(False)


def logits(net, rows):
    """The log-odds of uint8 rows."""
    with torch.no_grad():
        return np.concatenate([net(tensor(rows[k : k + 32])).numpy() for k in range(0, len(rows), 32)])
