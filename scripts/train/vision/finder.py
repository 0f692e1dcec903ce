"""Where the service finds faces: its built-in detector, by whose boxes it cuts what the face model is shown."""

import json
from pathlib import Path

import cv2
import numpy as np

from vision import export

BUILTIN = Path(__file__).resolve().parents[3] / "models" / "builtin" / "face-detection"
GREY = 128  # what is left over of the input


class Finder:
    """Runs the built-in detector on one thread. It is made from YuNet's answers and may be a little off them."""

    def __init__(self, folder=BUILTIN):
        facts = json.loads((folder / "card.json").read_text())
        self.run, self.side = export.runner(folder / "model.onnx"), facts["input"]["shape"][1]
        self.threshold, self.overlap = (facts["detection"][name] for name in ("threshold", "overlap"))

    def faces(self, pixels):
        """[x, y, width, height] of every face in pixels, in whole ones, those with the longest sides first."""
        small = reduce(pixels, self.side)
        rows = self.run(framed(small, self.side)[None])[0].astype(np.float64)
        boxes = suppress(np.column_stack([rows[:, 1:], 1 / (1 + np.exp(-rows[:, 0]))]), self.overlap)
        size = np.tile(small.shape[1::-1], 2)
        edges = np.clip(boxes[boxes[:, 4] >= self.threshold, :4], -size, 2 * size) * factor(pixels, self.side)
        edges = np.floor(edges + 0.5)
        found = np.column_stack([edges[:, :2], edges[:, 2:] - edges[:, :2]])
        return found[np.argsort(-found[:, 2:].max(1), kind="stable")].tolist()


def nearest(faces, box, least=0.4):
    """Of faces that begin with x, y, width and height, the one that overlaps box most; None if none does by least."""
    shared = overlaps(corners([box]), corners(faces))[0] if faces else np.zeros(1)
    return faces[shared.argmax()] if shared.max() >= least else None


def corners(faces):
    """Rows of x0, y0, x1, y1 of faces that begin with x, y, width and height."""
    boxes = np.array([face[:4] for face in faces], float)
    return np.column_stack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]])


def factor(pixels, side):
    """The smallest whole factor that brings a picture to side or less."""
    return -(-max(pixels.shape[:2]) // side)


def reduce(pixels, side):
    """The picture reduced by that factor: the mean of each block."""
    (height, width), by = pixels.shape[:2], factor(pixels, side)
    if by == 1:
        return pixels
    height, width = max(1, height // by), max(1, width // by)
    return cv2.resize(np.ascontiguousarray(pixels[: height * by, : width * by]), (width, height), interpolation=cv2.INTER_AREA)


def framed(pixels, side):
    """The reduced picture at the top left of the grey input."""
    canvas = np.full((side, side, 3), GREY, np.uint8)
    canvas[: pixels.shape[0], : pixels.shape[1]] = pixels
    return canvas


def overlaps(boxes, others):
    """Intersection over union of each box with each other one."""
    corner = np.maximum(boxes[:, None, :2], others[None, :, :2])
    extent = np.clip(np.minimum(boxes[:, None, 2:4], others[None, :, 2:4]) - corner, 0, None)
    shared = extent.prod(2)
    area = [np.clip(b[:, 2:4] - b[:, :2], 0, None).prod(1) for b in (boxes, others)]
    return shared / np.maximum(area[0][:, None] + area[1][None] - shared, 1e-6)


def suppress(boxes, most):
    """The rows that no stronger row overlaps by more than most, falling by score, which is the last column."""
    boxes = boxes[np.argsort(-boxes[:, 4], kind="stable")]
    kept = []
    for k in range(len(boxes)):
        if not kept or overlaps(boxes[k : k + 1], boxes[kept]).max() <= most:
            kept.append(k)
    return boxes[kept]
