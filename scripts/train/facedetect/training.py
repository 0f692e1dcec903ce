"""Losses and the training loop: the moved stage learns YuNet's features, then all that follows its faces."""

import os
import time
from dataclasses import dataclass

import cv2
import numpy as np
import torch
import torch.nn.functional as F
from network import Network, boxes
from teacher import Teacher, warm
from views import Views


@dataclass
class Stage:
    """A part of the training, with a cycle of rates of its own."""

    steps: int
    rate: float  # the highest
    full: float  # share of the views that are made of a picture with a face
    pasted: float  # share of the views that faces are pasted into
    parts: tuple  # of the network, that are trained
    features: bool = False  # whether on the features rather than on the faces


# What comes before stays as YuNet has it: it costs no gradients, and its small weights, for values of 0 to 255, would be
# lost at these rates.
AFTER = ("pooled", "fine", "middle", "coarse", "lateral", "last", "heads")
STAGES = (Stage(250, 3e-3, 0.7, 0.4, ("pooled",), features=True), Stage(1300, 1e-3, 0.65, 0.4, AFTER))
SIZES = ((320, 32), (320, 32), (320, 32), (640, 8))  # side of the views and how many, in turn
DECAY = 2e-4
AVERAGE = 0.998  # of the running mean of the weights
LEAST = 0.2  # the teacher's score above which its box is learned from
WORKERS = 1


class Batches(torch.utils.data.Dataset):
    """Batch k is drawn with a seed of its own, so that a run repeats; the teacher judges it where it is drawn."""

    def __init__(self, pictures, teacher, seed, stage):
        self.views, self.seed, self.stage = Views(pictures, stage.full, stage.pasted), seed, stage
        self.path, self.teacher = teacher, None

    def __len__(self):
        return self.stage.steps

    def __getitem__(self, step):
        cv2.setNumThreads(1)
        # Begun here, as a session does not survive the fork.
        self.teacher = self.teacher or Teacher(self.path, self.stage.features)
        side, count = SIZES[step % len(SIZES)]
        random = np.random.RandomState(self.seed * 1_000_003 + step)
        pixels = np.stack([self.views.view(random, side) for _ in range(count)])
        return [torch.from_numpy(values) for values in (pixels, *self.teacher.judge(pixels))]


def overlap(found, aim):
    """Intersection over union less the empty part of the hull (Rezatofighi et al., CVPR 2019)."""
    extent = lambda low, high: (high - low).clamp(min=0).prod(-1)
    shared = extent(torch.maximum(found[:, :2], aim[:, :2]), torch.minimum(found[:, 2:], aim[:, 2:]))
    both = extent(found[:, :2], found[:, 2:]) + extent(aim[:, :2], aim[:, 2:]) - shared
    hull = extent(torch.minimum(found[:, :2], aim[:, :2]), torch.maximum(found[:, 2:], aim[:, 2:]))
    return shared / both.clamp(min=1e-6) - (hull - both) / hull.clamp(min=1e-6)


def loss(rows, scores, corners):
    """Quality focal loss (Li et al., NeurIPS 2020) on the scores, overlap on the boxes of what may be faces."""
    logit = rows[..., 0]
    plain = F.binary_cross_entropy_with_logits(logit, scores, reduction="none")
    each = (torch.sigmoid(logit) - scores).abs() * plain
    faces = scores > LEAST
    apart = (1 - overlap(rows[faces][:, 1:], corners[faces])) * scores[faces]
    count = scores[faces].sum().clamp(min=1)
    return (4 * each.sum() + apart.sum()) / count


def lost(network, stage, pixels, scores, corners, *features):
    """The loss of one batch."""
    if stage.features:
        return F.mse_loss(network.features(pixels), *features) / features[0].var()
    return loss(boxes(network(pixels)), scores, corners)


def train(pictures, teacher, seed, stage, begin=None):
    """The running mean of the network, and the CPU minutes of this process and of the one that draws."""
    torch.manual_seed(seed)
    network, mean = Network(), Network()
    warm(network, teacher)
    network.load_state_dict(begin or network.state_dict())
    mean.load_state_dict(network.state_dict())
    network = network.to(memory_format=torch.channels_last).requires_grad_(False)
    trained = [p for part in stage.parts for p in getattr(network, part).requires_grad_(True).parameters()]
    optimiser = torch.optim.AdamW(trained, stage.rate, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, stage.rate, stage.steps, pct_start=0.08)
    loader = torch.utils.data.DataLoader(
        Batches(pictures, teacher, seed, stage), batch_size=None, num_workers=WORKERS, prefetch_factor=6
    )
    start, used, total = time.time(), sum(os.times()[:4]), 0.0
    for step, batch in enumerate(loader):
        value = lost(network, stage, *batch)
        optimiser.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(trained, 5.0)
        optimiser.step()
        schedule.step()
        average(mean, network, min(AVERAGE, (step + 1) / (step + 10)))
        total += value.item()
        if step % 100 == 99:
            print(f"step {step + 1}: loss {total / 100:.3f}, {time.time() - start:.0f} s", flush=True)
            total = 0.0
    # What the drawing process used counts once it has ended, which it does with the loader.
    return mean.eval().requires_grad_(False), (sum(os.times()[:4]) - used) / 60


def average(mean, network, share):
    """Moves the running mean of the weights."""
    with torch.no_grad():
        for old, new in zip(mean.parameters(), network.parameters()):
            old.lerp_(new, 1 - share)
