"""Self-blended faces (Shiohara and Yamasaki, CVPR 2022), from a box and five landmarks.

A face is blended with a slightly changed copy of itself: what is left is the
trace of blending alone, with no generator's style. The mask is an ellipse over
the face rather than a hull of 68 landmarks.
"""

import cv2
import numpy as np


def ellipse(shape, marks, random):
    """A soft mask over the face, H×W in [0, 1]; marks are eyes, nose and mouth corners, 5×2."""
    eyes, mouth = marks[:2].mean(0), marks[3:].mean(0)
    down = mouth - eyes
    length, apart = np.linalg.norm(down) + 1e-6, np.linalg.norm(marks[1] - marks[0])
    centre = eyes + down * random.uniform(0.3, 0.6)
    axes = (max(apart, 0.6 * length) * random.uniform(0.75, 1.25), length * random.uniform(0.9, 1.5))
    angle = np.degrees(np.arctan2(down[1], down[0])) - 90 + random.uniform(-8, 8)
    mask = np.zeros(shape[:2], np.float32)
    cv2.ellipse(mask, (tuple(map(float, centre)), (2 * float(axes[0]), 2 * float(axes[1])), float(angle)), 1.0, -1)
    mask = warp(mask, length * 0.12, random)
    blur = max(1.0, length * random.uniform(0.02, 0.2))
    mask = cv2.GaussianBlur(mask, (0, 0), blur)
    return mask / max(1e-6, float(mask.max()))


def warp(mask, strength, random):
    """Moves the border of the mask smoothly in and out."""
    height, width = mask.shape
    coarse = random.uniform(-1, 1, (2, 5, 5)).astype(np.float32) * np.float32(strength)
    field = [cv2.resize(c, (width, height), interpolation=cv2.INTER_CUBIC) for c in coarse]
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    return cv2.remap(mask, x + field[0], y + field[1], cv2.INTER_LINEAR)


def recolour(pixels, random):
    """Shifts channels, saturation, brightness and contrast a little."""
    shifted = pixels.astype(np.float32) + random.uniform(-14, 14, 3).astype(np.float32)
    grey = shifted.mean(2, keepdims=True)
    shifted = grey + (shifted - grey) * random.uniform(0.75, 1.25)
    shifted = (shifted - 128) * random.uniform(0.88, 1.12) + 128 + random.uniform(-10, 10)
    return np.clip(shifted, 0, 255).astype(np.uint8)


def resharpen(pixels, random):
    """Loses resolution or sharpens."""
    if random.rand() < 0.5:
        factor = random.uniform(0.35, 0.8)
        size = [max(8, round(v * factor)) for v in (pixels.shape[1], pixels.shape[0])]
        small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
        return cv2.resize(small, (pixels.shape[1], pixels.shape[0]), interpolation=cv2.INTER_CUBIC)
    soft = cv2.GaussianBlur(pixels, (0, 0), random.uniform(0.8, 2.0))
    return cv2.addWeighted(pixels, 1.7, soft, -0.7, 0)


def shift(pixels, length, random):
    """Moves and scales by a few per cent about the centre of the picture."""
    height, width = pixels.shape[:2]
    factor = random.uniform(0.95, 1.05)
    offset = random.uniform(-0.06, 0.06, 2) * length
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), random.uniform(-2, 2), factor)
    matrix[:, 2] += offset
    return cv2.warpAffine(pixels, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)


def self_blend(pixels, marks, random):
    """A self-blended copy of the picture of one face."""
    length = float(np.linalg.norm(marks[3:].mean(0) - marks[:2].mean(0))) + 1e-6
    inner, outer = pixels, pixels
    changed = recolour(pixels, random)
    if random.rand() < 0.7:
        changed = resharpen(changed, random)
    if random.rand() < 0.5:
        inner = changed
    else:
        outer = changed
    inner = shift(inner, length, random)
    mask = ellipse(pixels.shape, marks, random) * random.choice([0.5, 0.75, 1.0, 1.0, 1.0])
    mixed = outer + (inner.astype(np.float32) - outer) * mask[:, :, None]
    return np.clip(mixed + 0.5, 0, 255).astype(np.uint8)
