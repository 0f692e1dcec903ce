"""Training views: a genuine crop and its blended twin, which went the same way."""

import cv2
import numpy as np

from blend import twins
from data import MARGIN, SIZE, face_crop
from vision.augment import recompress, scale, tone

FOREIGN = 0.3  # share of the twins with another face in them
COARSE = 90  # pixels; faces are not scaled below: where nothing is left to see nothing is learned
TRIES = 6  # other faces looked at for one that fits


def marks(face):
    """Eyes, nose and mouth corners, 5×2."""
    return np.asarray(face[4:14]).reshape(5, 2)


def pair(items, item, random, tight=0.0):
    """A genuine crop and its blended twin, uint8; tight is the share of faces that fill their picture.

    Both have the same past and the same future: all that follows the blend is
    drawn once. Where a picture was not lossy, its past is.
    """
    pixels, face = np.load(item.base), np.array(item.face)
    if tight and random.rand() < tight:
        pixels, face = trimmed(pixels, face, random)
    if random.rand() < 0.8:
        pixels, face = smaller(pixels, face, random, 0.5)
    if not item.lossy and random.rand() < 0.7 or random.rand() < 0.3:
        pixels = recompress(pixels, random, 65, 98)
    other = fitting(items, face, random) if random.rand() < FOREIGN else None
    both = twins(pixels, marks(face), random, other)
    seed = random.randint(2**31)
    return [finished(p, face, np.random.RandomState(seed)) for p in both]


def trimmed(pixels, face, random):
    """Cut near the face, as portraits are: what a crop shows beyond is the edge, repeated."""
    x, y, width, height = face[:4]
    room = random.uniform(0.02, 0.3, 4) * max(width, height)
    left, top = (max(0, int(v - r)) for v, r in ((x, room[0]), (y, room[1])))
    right, bottom = int(x + width + room[2]), int(y + height + room[3])
    moved = np.array(face) - np.tile([left, top], 7)
    moved[2:4] = width, height
    return np.ascontiguousarray(pixels[top:bottom, left:right]), moved


def smaller(pixels, face, random, least):
    """Scaled down to the least factor at most, the face to no less than COARSE."""
    factor = max(random.uniform(least, 1.0), min(1.0, COARSE / max(face[2:4])))
    return scale(pixels, factor, random), face * factor


def shape(points):
    """Landmarks without place, size and turn."""
    complex_points = (points[:, 0] + 1j * points[:, 1]) - points.mean(0) @ [1, 1j]
    return complex_points / (complex_points[1] - complex_points[0] + 1e-6)


def fitting(items, face, random):
    """Of a few other faces the one whose landmarks fit best, as (pixels, marks)."""
    chosen = [items[k] for k in random.randint(0, len(items), TRIES)]
    goal = shape(marks(face))
    best = min(chosen, key=lambda i: np.abs(shape(marks(i.face)) - goal).sum())
    return np.load(best.base), marks(best.face)


def finished(pixels, face, random):
    """What happens to a picture afterwards: scaled, toned, compressed, cut out, flipped."""
    if random.rand() < 0.3:
        pixels, face = smaller(pixels, face, random, 0.6)
    if random.rand() < 0.3:
        pixels = tone(pixels, random)
    if random.rand() < 0.1:
        pixels = cv2.GaussianBlur(pixels, (0, 0), random.uniform(0.4, 0.9))
    if random.rand() < 0.15:
        noise = random.standard_normal(pixels.shape).astype(np.float32) * np.float32(random.uniform(1, 4))
        pixels = np.clip(pixels + noise, 0, 255).astype(np.uint8)
    if random.rand() < 0.75:
        pixels = recompress(pixels, random, 50, 98)
    crop = face_crop(pixels, face, SIZE, MARGIN * random.uniform(0.87, 1.15), random.uniform(-0.1, 0.1, 2))
    return np.ascontiguousarray(crop[:, ::-1]) if random.rand() < 0.5 else crop
