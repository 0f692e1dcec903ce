"""Pictures for the face detector: gathering, reducing, labelling by YuNet."""

import json
import multiprocessing
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import cv2
import detect
import numpy as np
from data import FAMILY, KINDS
from vision import gather
from vision.finder import reduce, suppress

SIZE = 640  # pixels, side of the input
SMALLEST = 36  # pixels, longer side of the faces that matter
FRAMES = 4  # of a clip
MOST = 250  # pictures of a repository's generator or source
PROCESSES = 2
SURE, MAYBE = 0.7, 0.3  # YuNet's score from which a box is a face, and from which it may be one
OVERLAP = 0.4  # intersection over union above which the weaker of two boxes is dropped
DETECTOR = "yunet/yunet_n_dynamic.onnx"
ARCHIVES = ("images2", "images", "faces", "video")

detect.CONFIDENT = MAYBE


@dataclass
class Picture:
    """A reduced picture and YuNet's faces in it, rows of x0, y0, x1, y1, score."""

    file: str
    rows: list
    label: str
    generator: str
    repository: str
    commit: str
    licence: str
    family: str
    made: bool = False

    @property
    def fake(self):
        """1 for generated or manipulated, else 0; the folds spread both evenly."""
        return int(self.label.endswith("fake"))

    @property
    def boxes(self):
        """All rows as an array."""
        return np.array(self.rows, np.float32).reshape(-1, 5)

    @cached_property
    def pixels(self):
        """RGB, at most SIZE on a side; kept once read."""
        return cv2.cvtColor(cv2.imread(self.file), cv2.COLOR_BGR2RGB)


def longer(boxes):
    """The longer side of each box."""
    return np.maximum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1])


def certain(boxes):
    """Which rows must be found; the others are neither right nor wrong."""
    return (boxes[:, 4] >= SURE) & (longer(boxes) >= SMALLEST)


def labelled(detector, pixels):
    """YuNet's faces; at half the size too, where it finds the largest ones better."""
    found = [np.zeros((0, 5))]
    for factor in (1, 2):
        small = reduce(pixels, max(pixels.shape[:2]) // 2 + 1) if factor == 2 else pixels
        back = pixels.shape[1] / small.shape[1]
        small = cv2.copyMakeBorder(small, 0, -small.shape[0] % 32, 0, -small.shape[1] % 32, cv2.BORDER_CONSTANT)
        rows = detector.candidates(small)
        boxes = np.concatenate([rows[:, :2] * back, (rows[:, :2] + rows[:, 2:4]) * back, rows[:, 14:]], 1)
        found.append(boxes if factor == 1 else boxes[longer(boxes) >= 128])
    return suppress(np.concatenate(found), OVERLAP)


def begin(weights):
    """Prepares one process."""
    global yunet
    cv2.setNumThreads(1)
    yunet = detect.YuNet(weights / DETECTOR)


def prepared(job):
    """The pictures of one file as fields of Picture, kept as JPEG of quality 97."""
    item, stem = job
    found = []
    for k, (one, pixels) in enumerate(gather.pictures(item, FRAMES)):
        if min(pixels.shape[:2]) < 64:
            continue
        small = reduce(np.ascontiguousarray(pixels), SIZE)
        file = f"{stem}-{k}.jpg"
        cv2.imwrite(file, small[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 97])
        small = cv2.imread(file)[:, :, ::-1]
        family = item.repository if item.generator in KINDS else FAMILY.get(item.generator, "")
        found.append({
            "file": file, "rows": np.round(labelled(yunet, small), 3).tolist(), "label": item.label,
            "generator": item.generator, "repository": item.repository, "commit": item.commit, "licence": item.licence, "family": family,
        })
    return found


def load(data, work, weights, more=None):
    """Returns the pictures and how many files were dropped as held out."""
    kept = Path(work, "facedetect.json")
    if not kept.exists():
        gather.unpack(data, work, ARCHIVES)
        items = (list(gather.collected(more, "face")) if more else []) + gather.listed(work, ARCHIVES, more)
        items, dropped = gather.allowed(items, Path(data, "held-out.sha256"))
        items = [i for i in gather.ranked(items) if i.rank < MOST or i.label.startswith("face")]
        target = Path(work, "facedetect-base")
        target.mkdir(parents=True, exist_ok=True)
        jobs = [(item, str(target / f"{n:05d}")) for n, item in enumerate(items)]
        with multiprocessing.get_context("spawn").Pool(PROCESSES, begin, (weights,)) as pool:
            rows = [row for found in pool.imap(prepared, jobs, 16) for row in found]
        kept.write_text(json.dumps([rows, dropped]))
    rows, dropped = json.loads(kept.read_text())
    for medium in ("image", "face") if more else ():
        dropped += gather.held_out(more, medium)
    pictures = [Picture(**row) for row in rows]
    sure = sum(int(certain(p.boxes).sum()) for p in pictures)
    print(f"{len(pictures)} pictures of {len(Counter(p.repository for p in pictures))} repositories, {sure} faces")
    return pictures, dropped
