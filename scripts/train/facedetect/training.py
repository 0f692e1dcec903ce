"""Targets, losses and the training loop."""

import os
import time
from dataclasses import dataclass

import cv2
import numpy as np
import torch
import torch.nn.functional as F
from faces import longer
from network import STRIDES, Network, boxes, cells, patches
from views import Views, doubtful


@dataclass
class Stage:
    """A part of the training, with a cycle of rates of its own."""

    steps: int
    rate: float  # the highest
    full: float  # share of the views that are made of a picture with a face
    pasted: float  # share of the views that faces are pasted into
    quality: bool  # whether a face's aim is the overlap of its box rather than 1
    focus: float  # power by which cells that are right count less


# The first learns boxes, the second to tell faces from the rest.
STAGES = (Stage(3600, 4e-3, 0.7, 0.35, True, 2.0), Stage(3300, 2.5e-3, 0.55, 0.45, False, 1.0))
SIZES = ((320, 32), (320, 32), (320, 32), (640, 8))  # side of the views and how many, in turn
DECAY = 2e-4
AVERAGE = 0.998  # of the running mean of the weights
RANGES = ((0, 96), (96, 224), (224, 1e9))  # longer sides that each stride is for
BOTH = 1.2  # a face within this factor of a limit is neither right nor wrong at the other stride
CENTRE = 0.18  # of a face's width and height: how far from its centre a cell may lie
WORKERS = 1


class Batches(torch.utils.data.Dataset):
    """Batch k is drawn with a seed of its own, so that a run repeats."""

    def __init__(self, pictures, seed, stage):
        self.views, self.seed, self.steps = Views(pictures, stage.full, stage.pasted), seed, stage.steps

    def __len__(self):
        return self.steps

    def __getitem__(self, step):
        cv2.setNumThreads(1)
        side, count = SIZES[step % len(SIZES)]
        random = np.random.RandomState(self.seed * 1_000_003 + step)
        drawn = [self.views.view(random, side) for _ in range(count)]
        found = [targets(boxes, side) for _, boxes in drawn]
        return (torch.from_numpy(np.stack([p for p, _ in drawn])), *(torch.from_numpy(np.stack(v)) for v in zip(*found)))


CELLS = {side: [cells(s, side // s, side // s).numpy() for s in STRIDES] for side, _ in SIZES}


def targets(faces, side):
    """For every cell: 1 face, 0 none, -1 neither; and the box of its face."""
    states, aims = [], []
    unsure = doubtful(faces)
    size, centre, extent = longer(faces), (faces[:, :2] + faces[:, 2:4]) / 2, faces[:, 2:4] - faces[:, :2]
    for stride, (low, high), points in zip(STRIDES, RANGES, CELLS[side]):
        state, aim = np.zeros(len(points), np.int64), np.zeros((len(points), 4), np.float32)
        away = np.abs(points[:, None] - centre[None])
        for k in np.flatnonzero(unsure):
            state[(away[:, k] < 0.6 * extent[k] + stride / 2).all(1)] = -1
        # The largest first: a smaller face in front of it takes its cells.
        for k in sorted(np.flatnonzero(~unsure), key=lambda k: -size[k]):
            near = (away[:, k] <= np.maximum(CENTRE * extent[k], 0.501 * stride)).all(1)
            if low <= size[k] < high:
                state[near], aim[near] = 1, faces[k, :4]
            elif low / BOTH <= size[k] < high * BOTH:
                state[near & (state != 1)] = -1
        states.append(state)
        aims.append(aim)
    return np.concatenate(states), np.concatenate(aims)


def overlap(found, aim):
    """Intersection over union, and the same less the empty part of the hull (Rezatofighi et al., CVPR 2019)."""
    extent = lambda low, high: (high - low).clamp(min=0).prod(-1)
    shared = extent(torch.maximum(found[:, :2], aim[:, :2]), torch.minimum(found[:, 2:], aim[:, 2:]))
    both = extent(found[:, :2], found[:, 2:]) + extent(aim[:, :2], aim[:, 2:]) - shared
    hull = extent(torch.minimum(found[:, :2], aim[:, :2]), torch.maximum(found[:, 2:], aim[:, 2:]))
    ratio = shared / both.clamp(min=1e-6)
    return ratio, ratio - (hull - both) / hull.clamp(min=1e-6)


def loss(rows, states, aims, stage):
    """Focal loss on the logits (quality focal loss of Li et al., NeurIPS 2020), overlap and a little L1 on the boxes."""
    faces = states == 1
    count = faces.sum().clamp(min=1)
    ratio, score = overlap(rows[faces][:, 1:], aims[faces])
    aim = faces.float()
    if stage.quality:
        aim[faces] = ratio.detach().clamp(min=0.1)
    logit = rows[..., 0]
    plain = F.binary_cross_entropy_with_logits(logit, aim, reduction="none")
    each = (torch.sigmoid(logit) - aim).abs() ** stage.focus * plain
    size = (aims[faces][:, 2:] - aims[faces][:, :2]).mean(1, keepdim=True)
    near = ((rows[faces][:, 1:] - aims[faces]).abs() / size).clamp(max=2).sum()
    return ((each * (states >= 0)).sum() * 2 + (1 - score).sum() * 1.5 + near * 0.5) / count


def train(pictures, seed, stage, begin=None):
    """The running mean of the network, and the CPU minutes of this process and of the one that draws."""
    torch.manual_seed(seed)
    network, mean = Network(), Network()
    network.load_state_dict(begin or network.state_dict())
    mean.load_state_dict(network.state_dict())
    network = network.to(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(network.parameters(), stage.rate, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, stage.rate, stage.steps, pct_start=0.08)
    batches = Batches(pictures, seed, stage)
    loader = torch.utils.data.DataLoader(batches, batch_size=None, num_workers=WORKERS, prefetch_factor=6)
    start, used, total = time.time(), sum(os.times()[:4]), 0.0
    for step, (pixels, states, aims) in enumerate(loader):
        value = loss(boxes(network(patches(pixels))), states, aims, stage)
        optimiser.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
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
    """Moves the running mean of weights and of batch norm's figures."""
    with torch.no_grad():
        for old, new in zip(mean.state_dict().values(), network.state_dict().values()):
            if old.is_floating_point():
                old.lerp_(new, 1 - share)
            else:
                old.copy_(new)
