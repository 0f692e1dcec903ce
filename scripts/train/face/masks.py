"""Where a face is exchanged: soft masks from five landmarks.

A template of a face (eyes at (±0.5, 0), y down) is laid over the landmarks by
an affine map, which follows turned heads well enough; its outlines stand for
the hulls of 68 landmarks that Shiohara and Yamasaki use.
"""

import cv2
import numpy as np

ANCHORS = np.array([[-0.5, 0], [0.5, 0], [0, 0.62], [-0.4, 1.08], [0.4, 1.08]], np.float32)
JAW = [(1.05, -0.05), (1.03, 0.35), (0.97, 0.7), (0.84, 1.06), (0.64, 1.4), (0.36, 1.66), (0, 1.76)]
BROWS = [(0.88, -0.3), (0.5, -0.45), (0.15, -0.36)]
FOREHEAD = [(0.9, -0.65), (0.5, -0.98), (0, -1.08)]
INNER = [(0.85, -0.12), (0.5, -0.3), (0.82, 0.3), (0.6, 1.1), (0.3, 1.32)]
LOWER = [(0.9, 0.6), (0.8, 1.1), (0.62, 1.4), (0.35, 1.66), (0, 1.76), (0.3, 0.5)]
EYES = [(0.92, -0.1), (0.85, -0.4), (0.2, -0.4), (0.2, 0.2), (0.85, 0.24)]
NOSE = [(0.12, 0.1), (0.34, 0.62), (0.25, 0.82), (0, 0.88)]
MOUTH = [(0.5, 1.08), (0.25, 0.9), (0, 0.92), (0.28, 1.3), (0, 1.36)]
# What is exchanged, and how often: the whole face mostly, as in face swaps.
KINDS = (
    ((JAW + BROWS,), 0.35), ((JAW + FOREHEAD,), 0.2), ((INNER,), 0.15), ((LOWER,), 0.08), ((EYES,), 0.06), ((NOSE,), 0.04),
    ((MOUTH,), 0.06), ((EYES, MOUTH), 0.03), ((NOSE, MOUTH), 0.03),
)


def template(marks):
    """The affine map, 3×2, from the template to the landmarks (eyes, nose, mouth corners; 5×2)."""
    return np.linalg.lstsq(np.column_stack([ANCHORS, np.ones(5)]), marks, rcond=None)[0]


def outline(points, marks, random):
    """The points and their mirror images, jittered, in the picture."""
    both = np.array([*points, *((-x, y) for x, y in points)], np.float32)
    both = both * random.uniform(0.92, 1.06, 2) + random.uniform(-0.06, 0.06, both.shape)
    return np.column_stack([both, np.ones(len(both))]) @ template(marks)


def region(shape, marks, random):
    """0 and 1, H×W: the convex hull of one kind of outline, its border bent."""
    kind = KINDS[random.choice(len(KINDS), p=[share for _, share in KINDS])][0]
    mask = np.zeros(shape[:2], np.float32)
    for points in kind:
        hull = cv2.convexHull(np.round(outline(points, marks, random)).astype(np.int32))
        cv2.fillConvexPoly(mask, hull, 1.0)
    return mask


def bend(mask, strength, random):
    """Moves the border of the mask smoothly in and out, by up to strength pixels."""
    height, width = mask.shape
    coarse = random.uniform(-1, 1, (2, 6, 6)).astype(np.float32) * np.float32(strength)
    field = [cv2.resize(c, (width, height), interpolation=cv2.INTER_CUBIC) for c in coarse]
    x, y = np.arange(width, dtype=np.float32)[None], np.arange(height, dtype=np.float32)[:, None]
    return cv2.remap(mask, x + field[0], y + field[1], cv2.INTER_LINEAR)


def soft(mask, length, random):
    """Softens the border: eroded by one blur, smoothed by another, between hardly and a third of the face."""
    wide = max(0.5, length * random.choice([0.01, 0.03, 0.06, 0.12, 0.2]) * random.uniform(0.7, 1.3))
    mask = cv2.GaussianBlur(mask, (0, 0), wide)
    if random.rand() < 0.5:  # inside the first border, as in the paper
        mask = np.where(mask >= 0.98 * mask.max(), 1.0, 0.0).astype(np.float32)
        mask = cv2.GaussianBlur(mask, (0, 0), max(0.5, wide * random.uniform(0.4, 1.0)))
    return mask / max(1e-6, float(mask.max()))


def blending_mask(shape, marks, random):
    """How much of each pixel is exchanged, H×W in [0, 1]."""
    length = float(np.linalg.norm(marks[3:].mean(0) - marks[:2].mean(0))) + 1e-6
    mask = soft(bend(region(shape, marks, random), length * 0.12, random), length, random)
    return mask * np.float32(random.choice([0.5, 0.75, 1.0, 1.0, 1.0, 1.0]))
