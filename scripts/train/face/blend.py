"""Self-blended faces (Shiohara and Yamasaki, CVPR 2022).

A face is blended with a slightly changed copy of itself: what is left is the
trace of blending alone, with no generator's style.
"""

import cv2
import numpy as np

from masks import blending_mask


def recolour(pixels, random):
    """Shifts channels, hue, saturation, brightness and contrast, hardly or clearly."""
    strength = random.uniform(0.3, 1.0)
    around = lambda width, *size: strength * random.uniform(-width, width, size)
    mix = np.eye(3) * (1 + around(0.1)) + (around(0.04, 3, 3) if random.rand() < 0.5 else 0)
    grey = np.full((3, 3), 1 / 3) - np.eye(3)
    mix = mix @ (np.eye(3) + around(0.3) * grey)
    offset = 128 - mix @ np.full(3, 128) + around(12) + around(18, 3)
    return cv2.transform(pixels, np.column_stack([mix, offset]))


def resharpen(pixels, random):
    """Loses resolution, sharpens or softens."""
    kind = random.rand()
    if kind < 0.5:
        factor = random.uniform(0.25, 0.8)
        size = [max(8, round(v * factor)) for v in (pixels.shape[1], pixels.shape[0])]
        small = cv2.resize(pixels, size, interpolation=int(random.choice([cv2.INTER_AREA, cv2.INTER_LINEAR, cv2.INTER_NEAREST])))
        return cv2.resize(small, (pixels.shape[1], pixels.shape[0]), interpolation=int(random.choice([cv2.INTER_LINEAR, cv2.INTER_CUBIC])))
    soft = cv2.GaussianBlur(pixels, (0, 0), random.uniform(0.6, 2.0))
    gain = random.uniform(0.3, 1.0) if kind < 0.85 else random.uniform(-0.9, -0.3)
    return cv2.addWeighted(pixels, 1 + gain, soft, -gain, 0)


def restyle(pixels, random):
    """A copy in other colours, or another sharpness, or both."""
    if random.rand() < 0.8:
        pixels = recolour(pixels, random)
    return resharpen(pixels, random) if random.rand() < 0.8 else pixels


def shift(pixels, marks, random):
    """Moves and scales by a few per cent about the face."""
    length = float(np.linalg.norm(marks[3:].mean(0) - marks[:2].mean(0)))
    centre = tuple(map(float, marks.mean(0)))
    matrix = cv2.getRotationMatrix2D(centre, random.uniform(-2, 2), random.uniform(0.95, 1.05))
    matrix[:, 2] += random.uniform(-0.07, 0.07, 2) * length
    size = (pixels.shape[1], pixels.shape[0])
    return cv2.warpAffine(pixels, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)


def self_blend(pixels, marks, random):
    """A self-blended copy of a picture that is left as it is; only the copy is restyled."""
    inner = shift(restyle(pixels, random), marks, random)
    mask = blending_mask(pixels.shape, marks, random)[:, :, None]
    return np.clip(pixels + (inner.astype(np.float32) - pixels) * mask + 0.5, 0, 255).astype(np.uint8)
